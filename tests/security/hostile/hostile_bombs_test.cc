// Programs that take as much as they can get. Each ends at a limit of its own
// jail; the host gives what its group is charged for and little else, gets all
// of it back, and a neighbour hardly notices.

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tests/security/host/host_meter.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/slowdown.h"
#include "tests/support/tier.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMemory = 96 * kMiB;
// Of kernel memory on the whole host: what others do meanwhile.
constexpr int64_t kNoise = 256 * kMiB;
constexpr int64_t kNoiseInFiles = 3000;
// What a crowd of a jail's processes can have open.
constexpr int64_t kMaxFiles = 64 * 1024;
// A neighbour says something 20 times a second.
constexpr absl::Duration kStillAlive = absl::Seconds(2);
// How long a bomb holds what it got.
constexpr char kHold[] = "100";

// How a bomb ends. An outcome that isn't an exit has code 0.
struct End {
  v1::Outcome outcome;
  int code = 0;
  friend bool operator==(const End&, const End&) = default;
};

End EndOf(const RunResult& result) {
  return {result.response.outcome(), result.response.exit_code()};
}
std::string Describe(const End& end) {
  return absl::StrCat(v1::Outcome_Name(end.outcome), " ", end.code);
}

struct Bomb {
  const char* name;
  End end;
  // Another end, on another kernel or when the group is charged for more.
  End or_end = end;
  const char* count = "0";
};

class HostileBombs : public HostileTest {
 protected:
  static End Exit(int error) {
    return {v1::OUTCOME_NONZERO_EXIT, Refused(error)};
  }
  static End Disk(int error) {
    return {v1::OUTCOME_DISK_LIMIT, Refused(error)};
  }
  static End Pids() { return {v1::OUTCOME_PIDS_LIMIT, Refused(EAGAIN)}; }
  static End Memory() { return {v1::OUTCOME_MEMORY_LIMIT}; }
  static End Timeout() { return {v1::OUTCOME_TIMEOUT}; }

  // The profile allows no more.
  static absl::Duration Patience() {
    return std::min(absl::Seconds(4) * Slowdown(), absl::Seconds(30));
  }

  static v1::RunCodeRequest Request(const Attempt& attempt,
                                    absl::Duration wall = Patience()) {
    v1::RunCodeRequest request = WithWall(Payload(Way::kExec, attempt), wall);
    request.mutable_limits()->set_memory_bytes(kMemory);
    request.mutable_limits()->set_tmp_bytes(24 * kMiB);
    request.mutable_limits()->set_workspace_bytes(24 * kMiB);
    return request;
  }

  void SetUp() override {
    HostileTest::SetUp();
    before_ = MeasureHost();
    runs_ = 0;
  }

  // All is given back.
  void TearDown() override {
    EXPECT_TRUE(WaitUntil(
        [&] {
          const HostUse now = MeasureHost();
          return now.kernel_memory < before_.kernel_memory + kNoise &&
                 now.open_files < before_.open_files + kNoiseInFiles &&
                 // A group whose run was the first to read a file of the image
                 // stays for it.
                 now.memory_groups < before_.memory_groups + 100 + runs_;
        },
        absl::Seconds(20)))
        << "before: " << Describe(before_)
        << "; now: " << Describe(MeasureHost());
    HostileTest::TearDown();
  }

  // Runs it alone and looks at what the host gives meanwhile.
  RunResult Explode(const v1::RunCodeRequest& request, const std::string& name,
                    int64_t not_charged = 0) {
    ++runs_;
    HostMeter meter;
    RunResult result;
    std::thread run([&] { result = Run(request); });
    absl::Duration slowest;
    const auto ended = [&] { return !result.response.run_id().empty(); };
    std::atomic<bool> over = false;
    std::thread ask([&] {
      do {
        const absl::Time asked = absl::Now();
        EXPECT_EQ(neighbour().Ask(), "") << name;
        slowest = std::max(slowest, absl::Now() - asked);
      } while (!over);
    });
    run.join();
    over = true;
    ask.join();
    EXPECT_TRUE(result.status.ok() && ended()) << name;
    const HostUse max = meter.Most();
    kernel_memory_ = max.kernel_memory - meter.before().kernel_memory;
    const int64_t files = max.open_files - meter.before().open_files;
    kernel_threads_ =
        MeasureHost().kernel_threads - meter.before().kernel_threads;
    std::cout << name << ": " << Describe(EndOf(result)) << ", charged "
              << (result.response.usage().peak_memory_bytes() >> 20)
              << " MiB, kernel memory +" << (kernel_memory_ >> 20)
              << " MiB, files +" << files << ", kernel threads "
              << kernel_threads_ << ", neighbour " << slowest << std::endl;
    EXPECT_LT(
        kernel_memory_,
        kNoise + not_charged +
            static_cast<int64_t>(result.response.usage().peak_memory_bytes()))
        << name << ": memory that nobody is charged for";
    EXPECT_LT(files, kMaxFiles + kNoiseInFiles) << name;
    EXPECT_LT(slowest, kStillAlive * Slowdown()) << name;
    return result;
  }

  void ExplodeAll(const std::vector<Bomb>& bombs, const Attempt& options,
                  const std::string& hold = kHold) {
    for (const Bomb& bomb : bombs) {
      const Attempt attempt =
          options + Attempt{"bomb", bomb.name, bomb.count, hold};
      const std::string name = absl::StrJoin(attempt, " ");
      const RunResult result = Explode(Request(attempt), name);
      const End end = EndOf(result);
      EXPECT_TRUE(end == bomb.end || end == bomb.or_end)
          << name << ": " << Describe(end) << " and not " << Describe(bomb.end)
          << ": " << result.response.stderr().data() << " "
          << result.response.evidence().ShortDebugString();
    }
  }

  HostUse before_;
  int64_t runs_ = 0;
  // Of the last one.
  int64_t kernel_memory_ = 0;
  absl::Duration kernel_threads_;
};

TEST_F(HostileBombs, ProcessesEndAtTheirLimits) {
  ExplodeAll({{"fork", Pids()},
              {"thread", Pids()},
              {"vfork", Pids()},
              {"argv", Exit(E2BIG)}},
             {});
}

TEST_F(HostileBombs, DescriptorsEndAtTheirLimits) {
  ExplodeAll({{"file", Exit(EMFILE)},
              {"eventfd", Exit(EMFILE)},
              {"timerfd", Exit(EMFILE)},
              {"signalfd", Exit(EMFILE)},
              {"pidfd", Exit(EMFILE)},
              {"epoll", Exit(EMFILE)},
              {"unix-names", Exit(EMFILE)},
              {"in-flight", Exit(ETOOMANYREFS)},
              {"nested", Exit(ETOOMANYREFS)}},
             {});
}

TEST_F(HostileBombs, MemoryOfEveryKindIsCharged) {
  ExplodeAll({{"heap", Memory()},
              {"shared-map", Memory()},
              {"stack", {v1::OUTCOME_SIGNALED}},
              {"mlock", Exit(ENOMEM)},
              {"memfd", Memory()},
              {"queues", Memory()},
              {"semaphores", Memory()},
              {"page-tables", Memory()},
              {"maps", Exit(ENOMEM), Memory()},
              // Without CONFIG_ANON_VMA_NAME there are no names.
              {"named-maps", Exit(EINVAL), Exit(ENOMEM)},
              // From Linux 6.16 on.
              {"futex-hash", Memory(), Exit(EINVAL)},
              {"empty-segments", Exit(ENOSPC)},
              {"timers", Exit(EAGAIN)},
              {"signals", Exit(EAGAIN)}},
             {});
}

TEST_F(HostileBombs, FilesEndAtTheirLimits) {
  ExplodeAll({{"tmp-files", Disk(ENOSPC)},
              {"shm-files", Disk(ENOSPC)},
              {"workspace-files", Disk(ENOSPC)},
              {"empty-files", Disk(ENOSPC)},
              {"landlock", Disk(ENOSPC)},
              {"link-chain", Exit(ELOOP)},
              // Before Linux 6.6 tmpfs has none.
              {"xattrs", Exit(ENOSPC), Exit(EOPNOTSUPP)},
              {"sparse", Exit(EFBIG)},
              {"fallocate", Exit(EFBIG)},
              {"fallocate-all", Exit(ENOSPC)},
              {"huge-memfd", Exit(EFBIG)},
              {"far-write", Exit(EFBIG)},
              {"deep-directories", Exit(0), Exit(0), "3000"},
              {"missing-names", Exit(0), Exit(0), "30000"}},
             {});
}

TEST_F(HostileBombs, WhatWaitsInTheKernelIsCharged) {
  ExplodeAll({{"pipes", Exit(EMFILE), Memory()},
              {"unix-sockets", Memory()},
              {"udp-sockets", Exit(EMFILE), Memory()},
              // Version 1 of control groups has a limit of its own for it.
              {"tcp-sockets", Exit(EMFILE), Memory()}},
             {});
}

// Locks on byte ranges are kernel memory that no group is charged for. A few
// thousand do no harm; whoever goes on is ended.
TEST_F(HostileBombs, LocksEndAtTheDaemonsBound) {
  ExplodeAll(
      {{"posix-locks", Exit(0), Exit(0), "4000"}, {"file-locks", Exit(EINVAL)}},
      {});
  for (const auto& [at_once, count] :
       {std::pair("1", "300000"), std::pair("20", "30000")}) {
    const RunResult result = Explode(
        Request({"--at-once", at_once, "bomb", "posix-locks", count, "9000"},
                3 * Patience()),
        "posix-locks", 128 * kMiB);
    EXPECT_EQ(Describe(EndOf(result)), Describe(Memory()));
    EXPECT_EQ(result.response.evidence().rule(), "record-locks");
    EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_DAEMON);
  }
}

// Neither are answers that wait in a netlink socket for somebody to read them:
// a socket holds as much as the host's net.core.rmem_max lets it, megabytes,
// and every process may have a thousand sockets. The daemon looks after them.
TEST_F(HostileBombs, AnswersOfNetlinkEndAtTheDaemonsBound) {
  for (const char* at_once : {"1", "20"}) {
    const RunResult result =
        Explode(Request({"--at-once", at_once, "bomb", "netlink", "0", kHold}),
                "netlink");
    EXPECT_EQ(Describe(EndOf(result)), Describe(Memory()));
    const v1::Evidence& evidence = result.response.evidence();
    EXPECT_EQ(evidence.rule(), "netlink-memory");
    EXPECT_EQ(evidence.killed_by(), v1::KILLER_DAEMON);
    EXPECT_GT(evidence.limit().measured(), evidence.limit().configured());
    EXPECT_LT(result.response.usage().peak_memory_bytes(), 32 * kMiB)
        << "it is charged by now";
    // What the host can see of it: as much as the kernel writes between two
    // looks, 150 MiB on a machine that is fast at it.
    EXPECT_LT(kernel_memory_, static_cast<int64_t>(256 * kMiB));
  }
}

// Nor is anybody charged for what waits in a connection that nobody accepts,
// whichever version the control groups are of.
TEST_F(HostileBombs, ConnectionsThatNobodyAcceptsEndAtTheDaemonsBound) {
  for (const char* at_once : {"1", "20"}) {
    const RunResult result = Explode(
        Request({"--at-once", at_once, "bomb", "tcp-backlog", "0", "3000"}),
        "tcp-backlog", 16 * kMiB);
    EXPECT_EQ(Describe(EndOf(result)), Describe(Memory()));
    const v1::Evidence& evidence = result.response.evidence();
    EXPECT_EQ(evidence.rule(), "tcp-backlog");
    EXPECT_EQ(evidence.killed_by(), v1::KILLER_DAEMON);
    EXPECT_GT(evidence.limit().measured(), evidence.limit().configured());
  }
}

// Sockets that nothing waits in: a list that takes long to read.
TEST_F(HostileBombs, NetlinkSocketsEndAtTheirLimits) {
  ExplodeAll({{"netlink-sockets", Exit(EMFILE)}}, {});
  // Until the daemon looks again, which it does the later the longer that took.
  ExplodeAll({{"netlink-sockets", Memory()}}, {"--at-once", "20"},
             absl::StrCat(100 * Slowdown()));
}

TEST_F(HostileBombs, ACrowdGetsNoMoreThanItsJail) {
  ExplodeAll({{"file", Exit(EMFILE), Memory()},
              {"eventfd", Exit(EMFILE), Memory()},
              {"timerfd", Exit(EMFILE), Memory()},
              {"signalfd", Exit(EMFILE), Memory()},
              {"pidfd", Exit(EMFILE), Memory()},
              {"in-flight", Exit(ETOOMANYREFS)},
              {"nested", Exit(ETOOMANYREFS)},
              {"mlock", Exit(ENOMEM)},
              {"timers", Exit(EAGAIN)},
              {"signals", Exit(EAGAIN)},
              {"pipes", Memory()},
              {"unix-sockets", Memory()},
              {"tcp-sockets", Memory(), Timeout()}},
             {"--at-once", "50"});
}

// No process has them any more when memory ends, so that the kernel goes on to
// kill the jail's init. The verdict must be the same: with JAIL_FAILED a
// program could make its own fault look like ours.
TEST_F(HostileBombs, SegmentsThatNobodyHasAreChargedToTheRun) {
  const int times = OnlyAPart() ? 5 : 30;
  for (int i = 0; i < times; ++i) ExplodeAll({{"shm-segments", Memory()}}, {});
}

// What a warm start may have forgotten to limit. With every change each way has
// another third of them.
TEST_F(HostileBombs, EveryWayOfStartingHasTheLimits) {
  size_t index = 0;
  for (const Way way : {Way::kPython, Way::kRuby, Way::kNode}) {
    // One more than the bombs of a way, so that the next way has others.
    ++index;
    for (const Bomb& bomb : std::vector<Bomb>{{"fork", Pids()},
                                              {"file", Exit(EMFILE)},
                                              {"heap", Memory()},
                                              {"queues", Memory()},
                                              {"mlock", Exit(ENOMEM)},
                                              {"signals", Exit(EAGAIN)},
                                              {"timers", Exit(EAGAIN)},
                                              {"in-flight", Exit(ETOOMANYREFS)},
                                              {"sparse", Exit(EFBIG)}}) {
      if (!IsOfThisTier(index++, 3)) continue;
      const RunResult result = RunIn(way, {"bomb", bomb.name, "0", kHold});
      ++runs_;
      EXPECT_EQ(Describe(EndOf(result)), Describe(bomb.end))
          << bomb.name << " in " << NameOf(way) << ": "
          << result.response.stderr().data();
    }
  }
}

// With every change every fourth of them.
TEST_F(HostileBombs, StormsBlowInTheJailsOwnTime) {
  size_t index = 0;
  constexpr absl::Duration kLong = absl::Milliseconds(600);
  for (const char* name : {"busy",
                           "yield",
                           "random",
                           "interval-timer",
                           "many-timers",
                           "nap",
                           "barrier",
                           "slow-barrier",
                           "protect",
                           "fault",
                           "wake",
                           "fork",
                           "exec",
                           "threads",
                           "garbage",
                           "files",
                           "read-proc",
                           "priorities",
                           "shared-segments",
                           "change-ids"}) {
    if (!IsOfThisTier(index++, 4)) continue;
    const RunResult result =
        Explode(Request({"storm", name, "8"}, kLong), name);
    // What the kernel frees later than its last owner goes (sockets that only
    // the collector finds, stacks of tasks) is charged to the run until then.
    const bool freed_late = absl::c_linear_search(
        std::vector<absl::string_view>{"garbage", "fork", "threads"}, name);
    if (!freed_late || EndOf(result) != Memory()) {
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT)) << name;
    }
    const v1::Usage& usage = result.response.usage();
    // Its share is one processor.
    EXPECT_LT(ToAbsl(usage.cpu_user_time()) + ToAbsl(usage.cpu_system_time()),
              ToAbsl(usage.wall_time()) * 1.5 + absl::Milliseconds(200))
        << name;
    EXPECT_LT(kernel_threads_, result.elapsed * 1.5)
        << name << ": kernel threads work for it";
    EXPECT_LT(result.elapsed, absl::Seconds(3) * Slowdown()) << name;
  }
}

}  // namespace
}  // namespace sandglass::testing
