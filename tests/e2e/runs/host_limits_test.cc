// Memory and processes that run out above a jail are no fault of its program,
// and its verdict says so.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

constexpr char kTakesMemory[] =
    "blocks = []\n"
    "for _ in range(180): blocks.append(bytearray(b'x') * (1 << 20))";
constexpr char kTakesProcesses[] =
    "import os, time\n"
    "for _ in range(40):\n"
    "    if os.fork() == 0:\n"
    "        time.sleep(30)\n"
    "        os._exit(0)\n";

// Limits the group that all that the daemon makes is in.
template <typename Fixture>
class LimitsAbove : public Fixture {
 protected:
  // Of the group that all that the daemon makes is in: a container or a
  // service has such a one, with limits of its own. Empty: there is none.
  std::string FileAboveJails(const std::string& name) {
    for (const std::string& group : DaemonGroups(this->daemon().groups())) {
      std::string path = absl::StrCat(GroupDirectory(group), "/", name);
      if (fs::exists(path)) return path;
    }
    return "";
  }

  uint64_t ValueAboveJails(const std::string& name) {
    uint64_t value = 0;
    EXPECT_TRUE(absl::SimpleAtoi(ReadFile(FileAboveJails(name)), &value))
        << name;
    return value;
  }

  bool SetAboveJails(const std::string& name, const std::string& value) {
    std::ofstream file(FileAboveJails(name));
    file << value << std::flush;
    return file.good();
  }

  void LimitMemory(uint64_t bytes) {
    // Where swap is, it is no way out. v1's limit of both may never be the less
    // of the two: the first time fails on the way down.
    const std::string value = absl::StrCat(bytes);
    const std::string both = "memory.memsw.limit_in_bytes";
    const bool has_both = !FileAboveJails(both).empty();
    if (has_both) (void)SetAboveJails(both, value);
    ASSERT_TRUE(
        SetAboveJails(on_v1() ? "memory.limit_in_bytes" : "memory.max", value));
    if (has_both) {
      ASSERT_TRUE(SetAboveJails(both, value));
    }
    if (!FileAboveJails("memory.swap.max").empty()) {
      ASSERT_TRUE(SetAboveJails("memory.swap.max", "0"));
    }
  }

  bool on_v1() { return !FileAboveJails("memory.limit_in_bytes").empty(); }

  uint64_t MemoryInUse() {
    return ValueAboveJails(on_v1() ? "memory.usage_in_bytes"
                                   : "memory.current");
  }
  // What is in use without files that are only kept in memory.
  uint64_t MemoryOfPrograms() {
    uint64_t bytes = MemoryInUse();
    for (const absl::string_view line :
         absl::StrSplit(ReadFile(FileAboveJails("memory.stat")), '\n')) {
      const std::pair<std::string, std::string> words =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      const std::string prefix = on_v1() ? "total_" : "";
      uint64_t files = 0;
      if ((words.first == prefix + "inactive_file" ||
           words.first == prefix + "active_file") &&
          absl::SimpleAtoi(words.second, &files)) {
        bytes -= std::min(bytes, files);
      }
    }
    return bytes;
  }
};

class HostLimits : public LimitsAbove<OwnDaemonTest> {
 protected:
  void SetUp() override {
    StartDaemon();
    if (HasFatalFailure()) return;
    // So that all is there that it keeps ready.
    ASSERT_THAT(Run("1"), OutcomeIs(v1::OUTCOME_OK));
    daemon().Remember();
  }

  RunResult Run(const std::string& code) {
    v1::RunCodeRequest request = Python(code);
    request.mutable_limits()->set_memory_bytes(256 * kMiB);
    request.mutable_limits()->set_max_processes(64);
    return client().Run(request);
  }
};

void ExpectNotItsFault(const v1::RunCodeResponse& response,
                       const std::string& rule) {
  EXPECT_EQ(response.outcome(), v1::OUTCOME_JAIL_FAILED);
  const v1::Evidence& evidence = response.evidence();
  EXPECT_EQ(evidence.rule(), rule);
  EXPECT_THAT(evidence.explanation(), HasSubstr("outside its jail"));
  EXPECT_THAT(evidence.explanation(), HasSubstr("can be repeated"));
  EXPECT_FALSE(evidence.has_limit());
  // A slow machine holds it back in its share of processors.
  for (const v1::LimitReading& touched : evidence.limits_touched()) {
    EXPECT_EQ(v1::LimitKind_Name(touched.kind()), "LIMIT_KIND_CPU_SHARE");
  }
}

TEST_F(HostLimits, MemoryThatRanOutAboveIsNotPutDownToTheProgram) {
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 80 * kMiB));
  const RunResult result = Run(kTakesMemory);
  ASSERT_THAT(result.status, IsOk());
  ExpectNotItsFault(result.response, "host-memory");
  EXPECT_EQ(result.response.evidence().killed_by(), v1::KILLER_KERNEL_OOM);
  EXPECT_GE(result.response.evidence().counters().oom_kills(), 1U);
  EXPECT_THAT(result.response.evidence().explanation(),
              HasSubstr("own limit of 256 MiB was not met"));
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 4096 * kMiB));
  EXPECT_THAT(Run(kTakesMemory), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(HostLimits, ProcessesThatRanOutAboveAreNotPutDownToTheProgram) {
  ASSERT_TRUE(SetAboveJails(
      "pids.max", absl::StrCat(ValueAboveJails("pids.current") + 25)));
  const RunResult result = Run(kTakesProcesses);
  ASSERT_TRUE(SetAboveJails("pids.max", "max"));
  ASSERT_THAT(result.status, IsOk());
  ExpectNotItsFault(result.response, "host-processes");
  EXPECT_GE(result.response.evidence().counters().pids_limit_hits(), 1U);
  EXPECT_EQ(result.response.exit_code(), 1);
  EXPECT_THAT(result.response.evidence().explanation(),
              HasSubstr("whose own of 64 processes and threads"));
  EXPECT_THAT(Run(kTakesProcesses), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

TEST_F(HostLimits, IdleJailsGoFirst) {
  struct Jails {
    uint32_t idle = 0;
    uint32_t wanted = 0;
  };
  const auto jails = [&] {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    Jails sum;
    for (const v1::PoolKind& kind : info.pool()) {
      sum.idle += kind.idle();
      sum.wanted += kind.target();
    }
    return sum;
  };
  // The pool may want fewer on its own once it forgets what was asked for at
  // the start, but never fewer than the floors of what it always keeps.
  constexpr uint32_t kFew = 10;
  constexpr uint32_t kFloors = 12;
  ASSERT_TRUE(
      WaitUntil([&] { return jails().idle >= kFloors; }, absl::Seconds(60)));
  // Each time a little less is left than the sixteenth that is to be left.
  EXPECT_TRUE(WaitUntil(
      [&] {
        LimitMemory(MemoryInUse() + kMiB);
        absl::SleepFor(absl::Seconds(1));
        const Jails now = jails();
        return now.wanted <= kFew && now.idle <= kFew;
      },
      absl::Seconds(60)))
      << daemon().LogTail();
  EXPECT_THAT(daemon().LogTail(), HasSubstr("pool_shrinks_for_memory"));
  // What a run needs while the pool is short.
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 16 * kMiB));
  EXPECT_THAT(Run("print(1)"), OutcomeIs(v1::OUTCOME_OK));
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 4096 * kMiB));
  EXPECT_TRUE(
      WaitUntil([&] { return jails().idle >= kFloors; }, absl::Seconds(60)))
      << daemon().LogTail();
  EXPECT_THAT(daemon().LogTail(), HasSubstr("pool_has_memory_again"));
  StopDaemon();
}

// A session's interpreter may be what the kernel kills.
TEST_F(HostLimits, MemoryThatRanOutAboveIsNotPutDownToASession) {
  v1::CreateSessionRequest create;
  create.set_language("python");
  create.mutable_limits()->set_memory_bytes(256 * kMiB);
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  ASSERT_THAT(session.Run("x = 1").status, IsOk());
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 80 * kMiB));
  const RunResult result = session.Run(kTakesMemory);
  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 4096 * kMiB));
  ASSERT_THAT(result.status, IsOk());
  ExpectNotItsFault(result.response, "host-memory");
}

using SessionsUnderPressure = LimitsAbove<DurableTest>;

// By the rule that docs/sessions.md states, and no other.
TEST_F(SessionsUnderPressure, GiveWayInOrderAndNeverThoseThatAreToBeKept) {
  ASSERT_NO_FATAL_FAILURE(Start());
  constexpr char kHolds[] = "held = bytearray(b'x') * (200 << 20); n = 7";
  v1::CreateSessionRequest evictable = PythonSession();
  evictable.set_evictable(true);
  const std::string first = Create(evictable);
  const std::string second = Create(evictable);
  const std::string durable = Create();
  std::vector<std::string> kept(4);
  for (std::string& id : kept) id = Create(PythonSession());
  std::vector<std::string> all = kept;
  all.insert(all.end(), {durable, first, second});
  for (const std::string& id : all) {
    ASSERT_THAT(RunIn(id, kHolds), OutcomeIs(v1::OUTCOME_OK));
  }
  ASSERT_THAT(RunIn(durable, "open('f', 'w').write('of before')"),
              OutcomeIs(v1::OUTCOME_OK));

  const auto reason = [&](const std::string& id) {
    v1::GetSessionRequest request;
    request.set_session_id(id);
    v1::GetSessionResponse response;
    return DetailsOf(CallSessions(client(),
                                  &v1::SessionService::Stub::GetSession,
                                  request, &response))
        .reason;
  };
  // Each time less is left than is to be left, which is a sixteenth of more
  // than a gigabyte, and yet enough for what the daemon does meanwhile.
  const auto becomes = [&](const auto& so) {
    return WaitUntil(
        [&] {
          LimitMemory(MemoryOfPrograms() + 48 * kMiB);
          absl::SleepFor(absl::Seconds(1));
          return so();
        },
        absl::Seconds(60));
  };
  const auto gone = [&](const std::string& id) { return !reason(id).empty(); };
  EXPECT_TRUE(becomes([&] { return gone(first); })) << daemon().LogTail();
  EXPECT_EQ(reason(first), "SESSION_EVICTED");
  EXPECT_TRUE(becomes([&] { return gone(second); })) << daemon().LogTail();
  EXPECT_EQ(reason(second), "SESSION_EVICTED");
  EXPECT_TRUE(becomes([&] {
    return Describe(durable).state() == v1::SESSION_STATE_DORMANT;
  })) << daemon().LogTail();
  // Meanwhile nobody is promised more.
  v1::CreateSessionResponse response;
  const ErrorDetails refused =
      DetailsOf(CallSessions(client(), &v1::SessionService::Stub::CreateSession,
                             PythonSession(), &response));
  EXPECT_EQ(refused.reason, "MACHINE_LACKS_MEMORY");
  EXPECT_TRUE(refused.retry_delay.has_value());

  ASSERT_NO_FATAL_FAILURE(LimitMemory(MemoryInUse() + 4096 * kMiB));
  for (const std::string& id : kept) {
    const RunResult still = RunIn(id, "print(n, len(held) >> 20)");
    ASSERT_THAT(still, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(still.response.stdout().data(), "7 200\n");
  }
  const RunResult again = RunIn(durable, "print(open('f').read())");
  ASSERT_THAT(again, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(again.response.session().state_lost(),
              HasSubstr("the machine lacked memory"));
  EXPECT_TRUE(WaitUntil(
      [&] {
        return CallSessions(client(), &v1::SessionService::Stub::CreateSession,
                            PythonSession(), &response)
            .ok();
      },
      absl::Seconds(10)));
}

}  // namespace
}  // namespace sandglass::testing
