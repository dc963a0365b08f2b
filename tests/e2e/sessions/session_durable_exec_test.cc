// Commands in sessions that are copied: to the disk, and by forks.

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/durable.h"
#include "tests/support/calls/execs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using Stub = v1::ExecService::Stub;

class DurableCommands : public DurableTest {
 protected:
  // Of the daemon there is now.
  std::unique_ptr<Stub> Execs() {
    return v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
  }
  ExecResult RunCommand(const std::string& id, const std::string& text) {
    return Execute(*Execs(), Command(id, text));
  }
  v1::ExecInfo Ended(const std::string& id, const std::string& exec_id) {
    v1::PollExecRequest request;
    request.set_session_id(id);
    request.set_exec_id(exec_id);
    request.mutable_wait()->set_seconds(20);
    v1::PollExecResponse response;
    EXPECT_THAT(CallExecs(*Execs(), &Stub::PollExec, request, &response),
                IsOk());
    return response.snapshot().exec();
  }
  // Kills init of the jail that a process of this name is in, as the kernel's
  // out-of-memory killer might; false while there is no such process.
  bool KilledInitOf(const std::string& comm) {
    const auto name = [](const Process& process) {
      return ReadFile(absl::StrCat("/proc/", process.pid, "/comm"));
    };
    for (const Process& process : daemon().Processes()) {
      if (name(process) != "sandglass-init\n") continue;
      for (const Process& child : ProcessTree(process.pid)) {
        if (name(child) == comm) return testing::Kill(process, SIGKILL);
      }
    }
    return false;
  }
};

TEST_F(DurableCommands, FilesOfACommandAreSavedBeforeItsEndIsReported) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create(DurableSession(""));
  for (int i = 0; i < 20; ++i) {
    const ExecResult result =
        RunCommand(id, absl::StrCat("echo ", i, " > f", i, "; echo ", i));
    ASSERT_EQ(result.outcome(), v1::OUTCOME_OK);
    ASSERT_EQ(result.end->files_not_saved(), "");
  }
  ASSERT_NO_FATAL_FAILURE(Restart());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Content(id, absl::StrCat("f", i)), absl::StrCat(i, "\n"));
  }
  // The first use after the restart may be a command's.
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(RunCommand(id, "cat f7 f8").out(), "7\n8\n");
}

TEST_F(DurableCommands, ACommandInAJailThatDiesEndsAndTheNextHasTheFiles) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create(DurableSession(""));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(RunCommand(id, "echo kept > f; rm -f lost").outcome(),
              v1::OUTCOME_OK);
    v1::StartExecRequest request;
    *request.mutable_spec() = Command(id, "echo soon > lost; sleep 60");
    request.mutable_spec()->set_background(true);
    request.mutable_wait();
    v1::StartExecResponse started;
    ASSERT_THAT(CallExecs(*Execs(), &Stub::StartExec, request, &started),
                IsOk());
    ASSERT_TRUE(WaitUntil([this] { return KilledInitOf("sleep\n"); },
                          absl::Seconds(20)));
    EXPECT_EQ(Ended(id, started.snapshot().exec().exec_id()).end().outcome(),
              v1::OUTCOME_JAIL_FAILED);
    const ExecResult next = RunCommand(id, "cat f; ls lost");
    EXPECT_EQ(next.out(), "kept\n");
    EXPECT_EQ(next.outcome(), v1::OUTCOME_NONZERO_EXIT);
  }
}

TEST_F(DurableCommands, CommandsGoOnBesideForks) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string id = Create(PythonSession());
  ASSERT_EQ(RunCommand(id, "head -c 3000000 /dev/zero > big").outcome(),
            v1::OUTCOME_OK);
  int forked = 0;
  std::thread forks([&] {
    for (int i = 0; i < 15; ++i) {
      v1::ForkSessionRequest request;
      request.set_session_id(id);
      request.add_children();
      v1::ForkSessionResponse response;
      forked += CallSessions(client(), &v1::SessionService::Stub::ForkSession,
                             request, &response)
                        .ok()
                    ? 1
                    : 0;
    }
  });
  for (int i = 0; i < 40; ++i) {
    const ExecResult result = RunCommand(id, "wc -c < big");
    // The moment of a fork may be met; then it says when to try again.
    if (!result.status.ok()) {
      EXPECT_EQ(DetailsOf(result.status).reason, "TOO_MANY_EXECS")
          << result.status.error_message();
      continue;
    }
    EXPECT_EQ(result.out(), "3000000\n");
  }
  forks.join();
  EXPECT_EQ(forked, 15);
}

}  // namespace
}  // namespace sandglass::testing
