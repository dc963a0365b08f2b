#include "server/daemon/preflight_helpers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/version.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = absl::Seconds(60);

class HelperCheck : public ::testing::Test {
 protected:
  // What is said of a program whose shell does this.
  absl::Status CheckOf(const std::string& script, absl::Duration wait = kLong) {
    const std::string path = directory_.Path("helper");
    testing::WriteFile(path, absl::StrCat("#!/bin/sh\n", script, "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return CheckHelper("helper", path, "sandglass-helper", wait);
  }
  const testing::TempDir directory_;
  const std::string right_ = absl::StrCat("echo sandglass-helper ", kVersion);
};

TEST_F(HelperCheck, AHelperOfThisVersionIsAccepted) {
  EXPECT_EQ(CheckOf(right_), absl::OkStatus());
  EXPECT_EQ(CheckOf(absl::StrCat("[ \"$*\" = --version ] && ", right_)),
            absl::OkStatus());
}

TEST_F(HelperCheck, AHelperOfAnotherVersionIsRefused) {
  for (const char* script : {"echo sandglass-helper 0.0.0-other",
                             "echo something else", "exit 1", "true"}) {
    const absl::Status status = CheckOf(script);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << script;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(absl::StrCat("is no sandglass-helper ",
                                             kVersion, ": it says \"")),
                      HasSubstr("set \"helper\" to this version's")));
  }
  EXPECT_THAT(CheckOf("echo 'sandglass-helper \x1b[31m'").message(),
              Not(HasSubstr("\x1b")));
}

TEST_F(HelperCheck, WhatCannotRunIsNamed) {
  EXPECT_THAT(CheckHelper("helper", directory_.Path("none"), "h").message(),
              HasSubstr("there is no executable"));
  const std::string text = directory_.Path("text");
  testing::WriteFile(text, "no program");
  EXPECT_EQ(CheckHelper("helper", text, "h").code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(HelperCheck, ASlowOneAndAKilledOneAreToldApart) {
  const absl::Status slow = CheckOf("exec sleep 100", absl::Milliseconds(300));
  EXPECT_EQ(slow.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(slow.message(), HasSubstr("it said nothing within 300ms"));
  const absl::Status killed = CheckOf("kill -9 $$");
  EXPECT_EQ(killed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(killed.message(), HasSubstr("it said nothing and was killed"));
}

TEST_F(HelperCheck, OutputWithoutEndIsCutOff) {
  EXPECT_EQ(CheckOf("while :; do echo y; done").code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(HelperCheck, SignalsDoNotEndTheWait) {
  struct sigaction old = {};
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGHUP, &action, &old), 0);
  std::atomic<bool> done = false;
  std::thread sender([&, waiting = ::pthread_self()] {
    while (!done) {
      ::pthread_kill(waiting, SIGHUP);
      absl::SleepFor(absl::Milliseconds(1));
    }
  });
  const absl::Cleanup stop = [&] {
    done = true;
    sender.join();
    ::sigaction(SIGHUP, &old, nullptr);
  };
  EXPECT_EQ(CheckOf(absl::StrCat("sleep 0.2; ", right_)), absl::OkStatus());
}

}  // namespace
}  // namespace sandglass::server
