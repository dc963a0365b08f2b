// Many clients, too many clients, and clients that vanish.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/slowdown.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// A vanished client's jail must be gone "at once"; this is for a busy machine.
constexpr absl::Duration kAtOnce = absl::Seconds(5);

class Load : public DaemonTest {};

TEST_F(Load, SixtyFourClientsAtOnceAllGetTheirAnswer) {
  constexpr int kClients = 64;
  std::vector<RunResult> results(kClients);
  std::vector<std::thread> threads;
  threads.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&results, i] {
      Client own(daemon().address());
      v1::RunCodeRequest request = Python("import sys\nprint(sys.argv[1])");
      request.add_args(absl::StrCat("client ", i));
      results[static_cast<size_t>(i)] = own.Run(request);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kClients; ++i) {
    const RunResult& result = results[static_cast<size_t>(i)];
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << "client " << i;
    EXPECT_EQ(result.response.stdout().data(),
              absl::StrCat("client ", i, "\n"));
  }
}

// Jails go later than runs end; who comes meanwhile waits for one.
TEST_F(Load, ShortRunsInARowNeverLackAJail) {
  const std::vector<v1::RunCodeRequest> requests(600, Bash(":"));
  for (const RunResult& result : client().RunAll(requests, 8)) {
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  }
}

TEST_F(Load, HogsInParallelStayInTheirLimits) {
  std::vector<v1::RunCodeRequest> requests;
  for (int i = 0; i < 8; ++i) {
    v1::RunCodeRequest request =
        Python("b = []\nwhile True: b.append(bytearray(b'x') * (1 << 20))");
    request.mutable_limits()->set_memory_bytes(64 << 20);
    requests.push_back(request);
    requests.push_back(Bash("echo fine"));
  }
  const std::vector<RunResult> results = client().RunAll(requests, 8);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_THAT(results[i], OutcomeIs(i % 2 == 0 ? v1::OUTCOME_MEMORY_LIMIT
                                                 : v1::OUTCOME_OK));
  }
}

TEST_F(Load, ACancelledCallEndsItsJailAtOnce) {
  const std::string marker = MakeMarker();
  v1::RunCodeRequest request =
      Python("import time\nprint('ready', flush=True)\ntime.sleep(40)");
  request.add_args(marker);
  StreamCall call(client().stub(), request);
  ASSERT_TRUE(call.ReadUntil("ready"));
  const std::vector<Process> jail = WaitForMarked(daemon(), marker);
  ASSERT_FALSE(jail.empty());
  call.Cancel();
  EXPECT_TRUE(WaitUntilDead(jail, kAtOnce)) << Describe(jail);
}

TEST_F(Load, AUnaryCallThatIsGivenUpEndsItsJailAtOnce) {
  const std::string marker = MakeMarker();
  v1::RunCodeRequest request = Bash("sleep 40; true");
  request.add_args(marker);
  grpc::ClientContext context;
  v1::RunCodeResponse response;
  grpc::Status status;
  std::thread caller(
      [&] { status = client().stub().RunCode(&context, request, &response); });
  const std::vector<Process> jail = WaitForMarked(daemon(), marker);
  EXPECT_FALSE(jail.empty());
  context.TryCancel();
  caller.join();
  EXPECT_THAT(status, StatusIs(grpc::StatusCode::CANCELLED));
  EXPECT_TRUE(WaitUntilDead(jail, kAtOnce)) << Describe(jail);
}

// A client that has had the first line of its program. It reads on.
pid_t SpawnClient(std::string address, std::string code, std::string marker) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string path = STUCK_CLIENT_PATH;
  std::string language = "bash";
  char* argv[] = {path.data(), address.data(), language.data(),
                  code.data(), marker.data(),  nullptr};
  pid_t client = -1;
  EXPECT_EQ(
      posix_spawn(&client, path.c_str(), &actions, nullptr, argv, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char line[16] = {};
  const ssize_t got = read(ends[0], line, sizeof(line) - 1);
  close(ends[0]);
  EXPECT_GT(got, 0) << "the client did not get its program started";
  return client;
}

TEST_F(Load, AKilledClientsJailIsGoneAtOnce) {
  const std::string marker = MakeMarker();
  const pid_t vanishing =
      SpawnClient(daemon().address(), "echo ready; sleep 40; true", marker);
  const std::vector<Process> jail = WaitForMarked(daemon(), marker);
  EXPECT_FALSE(jail.empty());
  kill(vanishing, SIGKILL);
  waitpid(vanishing, nullptr, 0);
  EXPECT_TRUE(WaitUntilDead(jail, kAtOnce)) << Describe(jail);
}

class SmallDaemon : public OwnDaemonTest {};

// gRPC's server waits for what it can't get rid of.
TEST_F(SmallDaemon, AClientThatReadsNothingDoesNotHoldUpAStop) {
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = R"({"drain_timeout": "1s"})"}));
  const pid_t client =
      SpawnClient(daemon().address(), "echo ready; while :; do echo more; done",
                  MakeMarker());
  kill(client, SIGSTOP);
  // Until nothing more fits on the way to it.
  WaitUntil([] { return false; }, absl::Seconds(1));
  const absl::Time start = absl::Now();
  StopDaemon();
  EXPECT_LT(absl::Now() - start, absl::Seconds(10) * Slowdown());
  kill(client, SIGKILL);
  waitpid(client, nullptr, 0);
}

TEST_F(SmallDaemon, RunsBeyondTheQueueAreRefusedWithRetryInfo) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({
    // One run at a time and one that waits.
    "admission": {"max_running": 1, "max_queued": 1}
  })"}));
  const v1::RunCodeRequest slow = Bash("echo ready; sleep 4");
  StreamCall running(client().stub(), slow);
  ASSERT_TRUE(running.ReadUntil("ready"));

  constexpr size_t kCallers = 6;
  std::vector<RunResult> results(kCallers);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kCallers; ++i) {
    threads.emplace_back(
        [&, i] { results[i] = client().Run(Bash("echo waited")); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(running.Finish(), IsOk());

  int refused = 0;
  for (const RunResult& result : results) {
    if (result.status.ok()) {
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
      EXPECT_GT(ToAbsl(result.response.timings().queue()),
                absl::Milliseconds(100));
      continue;
    }
    ++refused;
    EXPECT_THAT(result, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
    const ErrorDetails details = DetailsOf(result.status);
    ASSERT_TRUE(details.retry_delay.has_value());
    EXPECT_GT(*details.retry_delay, absl::ZeroDuration());
    EXPECT_EQ(details.domain, "sandglass.dev");
    EXPECT_LT(result.elapsed, absl::Seconds(3)) << "refused, but late";
  }
  EXPECT_EQ(refused, static_cast<int>(kCallers) - 1);
  StopDaemon();
}

TEST_F(SmallDaemon, ACallerThatLeavesTheQueueIsNeverRun) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({
    "admission": {"max_running": 1, "max_queued": 4}
  })"}));
  StreamCall running(client().stub(), Bash("echo ready; sleep 2"));
  ASSERT_TRUE(running.ReadUntil("ready"));
  const RunResult waiting =
      client().Run(Bash("echo must not run"), absl::Milliseconds(500));
  EXPECT_THAT(waiting,
              ::testing::AnyOf(StatusIs(grpc::StatusCode::DEADLINE_EXCEEDED),
                               StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED)));
  EXPECT_THAT(running.Finish(), IsOk());
  EXPECT_THAT(client().Run(Bash("echo next")), OutcomeIs(v1::OUTCOME_OK));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
