// Two jails at once try to talk through everything that both can touch or see.
// What was sent is a random number that only the sender was given; the
// receiver's exit code is what it heard.

#include <time.h>

#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/slowdown.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

// tests/payloads/hostile/arguments.h
constexpr int kNoSetUp = 91;
constexpr int kSent = 95;
constexpr int kSilence = 96;

// Until both are there.
constexpr absl::Duration kHeadStart = absl::Milliseconds(250);
// A machine with much to do garbles what is said and lets programs be late.
constexpr int kMaxTries = 8;
// With every change one channel of so many is tried.
constexpr size_t kNthChannel = 3;

class Covert : public HostileTest {
 protected:
  struct Talk {
    int value = 0;
    int heard = 0;
    std::string levels;
  };

  static std::string Start() {
    timespec now = {};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::StrCat(absl::ToInt64Nanoseconds(
        absl::DurationFromTimespec(now) + kHeadStart * Slowdown()));
  }

  // Not 0, which is silence too.
  static int RandomValue() {
    static std::mt19937 random(std::random_device{}());
    return std::uniform_int_distribution<int>(1, 63)(random);
  }

  // One number from a jail to another one.
  static Talk Between(Way way, const std::string& channel) {
    Talk talk;
    for (int i = 0; i < kMaxTries; ++i) {
      talk.value = RandomValue();
      const std::string start = Start();
      const std::vector<RunResult> results =
          client().RunAll({Payload(way, {"covert", "send", channel, start,
                                         absl::StrCat(talk.value)}),
                           Payload(way, {"covert", "receive", channel, start})},
                          2);
      for (const RunResult& result : results) {
        EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << channel;
      }
      talk.heard = results[1].response.exit_code();
      talk.levels = results[1].response.stderr().data();
      if (results[0].response.exit_code() == kSent && talk.heard != kNoSetUp) {
        return talk;
      }
    }
    ADD_FAILURE() << channel << ": always late";
    return talk;
  }

  // From a program to itself.
  static Talk Within(Way way, const std::string& channel) {
    Talk talk;
    for (int i = 0; i < kMaxTries; ++i) {
      talk.value = RandomValue();
      const RunResult result = Run(Payload(
          way, {"covert", "both", channel, Start(), absl::StrCat(talk.value)}));
      talk.heard = result.response.exit_code();
      talk.levels = result.response.stderr().data();
      if (talk.heard != kNoSetUp) break;
    }
    return talk;
  }

  template <typename Try>
  static bool Works(const std::string& channel, Try talk_once) {
    for (int i = 0; i < kMaxTries; ++i) {
      const Talk talk = talk_once();
      std::cout << channel << ": sent " << talk.value << ", heard "
                << talk.heard << ": " << talk.levels << std::endl;
      if (talk.heard == talk.value) return true;
      if (talk.heard == kSilence && i > 1) break;
    }
    return false;
  }

  static void ExpectClosed(Way way, const std::string& channel) {
    // By chance a number may be right once.
    const Talk talk = Between(way, channel);
    EXPECT_FALSE(talk.heard == talk.value &&
                 Works(channel, [&] { return Between(way, channel); }))
        << channel << " in " << NameOf(way);
  }
  static void ExpectWithin(Way way, const std::string& channel) {
    EXPECT_TRUE(Works(channel, [&] { return Within(way, channel); }))
        << channel << " doesn't even work in one jail, in " << NameOf(way);
  }
  static void ExpectOpen(Way way, const std::string& channel) {
    EXPECT_TRUE(Works(channel, [&] { return Between(way, channel); }))
        << channel << " in " << NameOf(way)
        << " is closed: docs/security.md says otherwise";
  }
};

// What works inside one jail, and not out of it.
constexpr const char* kOwn[] = {
    "flock-own", "flock-proc", "name",  "abstract",  "port",  "segment",
    "segments",  "signals",    "pipes", "processes", "locks", "used-sockets"};

TEST_F(Covert, WhatAJailHasForItselfTellsNobodyAnything) {
  size_t index = 0;
  for (const char* channel : kOwn) {
    if (!IsOfThisTier(index++, kNthChannel)) continue;
    ExpectWithin(Way::kExec, channel);
    ExpectClosed(Way::kExec, channel);
  }
}

TEST_F(Covert, EveryWayOfStartingHasItForItself) {
  size_t index = 0;
  for (const Way way : {Way::kPython, Way::kRuby, Way::kNode}) {
    for (const char* channel :
         {"flock-own", "abstract", "segments", "signals", "pipes"}) {
      if (!IsOfThisTier(index++, kNthChannel)) continue;
      ExpectClosed(way, channel);
    }
  }
}

TEST_F(Covert, WhatIsRefusedTellsNothing) {
  // Leases and times belong to the owner; nothing of the image is ever open for
  // writing, and reading it leaves no time.
  size_t index = 0;
  for (const char* channel : {"lease", "access-time", "set-time", "busy-text",
                              "locked-memory", "ofd-lock"}) {
    if (!IsOfThisTier(index++, kNthChannel)) continue;
    ExpectClosed(Way::kExec, channel);
  }
}

// Inodes of the image, and of its devices, are everybody's. System calls name
// descriptors, so that the filter can't tell whose; only a copy of the image
// for each jail would close these.
TEST_F(Covert, LocksOnTheImageAreOpen) {
  size_t index = 0;
  for (const char* channel : {"flock-file", "flock-directory", "flock-device",
                              "flock-etc", "posix-lock"}) {
    if (!IsOfThisTier(index++, kNthChannel)) continue;
    ExpectOpen(Way::kExec, channel);
  }
}

// A word of a page of the image that both have mapped.
TEST_F(Covert, FutexesOnTheImageAreOpen) { ExpectOpen(Way::kExec, "futex"); }

// sysinfo(2), eventfds' numbers and inode numbers of pipes can't be masked, so
// masking their like in /proc would close nothing.
TEST_F(Covert, NumbersThatTheKernelCountsForAllAreOpen) {
  size_t index = 0;
  for (const char* channel :
       {"threads", "load", "open-files", "eventfd-id", "sockets"}) {
    if (!IsOfThisTier(index++, kNthChannel)) continue;
    ExpectOpen(Way::kExec, channel);
  }
}

}  // namespace
}  // namespace sandglass::testing
