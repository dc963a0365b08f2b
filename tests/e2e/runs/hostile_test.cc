// Programs that behave as badly as they can. The fixture adds to each test that
// no process is left and the daemon still stands.

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

class Hostile : public DaemonTest {};

TEST_F(Hostile, ClosedFdsAreNoEndOfTheRun) {
  const RunResult result = Run(
      WithWall(Python("import os, time\nos.closerange(0, 100)\ntime.sleep(60)"),
               absl::Seconds(1)));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
}

TEST_F(Hostile, ClosedFdsDoNotHideTheExitCode) {
  const RunResult result =
      Run(Python("import os\nos.closerange(0, 100)\nos._exit(9)"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 9);
}

TEST_F(Hostile, IgnoredSignalsDoNotHelp) {
  const RunResult result = Run(WithWall(Python(R"(
import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    time.sleep(1)
)"),
                                        absl::Seconds(1)));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(Hostile, ADaemonisedChildIsGoneWithTheRun) {
  const std::string marker = MakeMarker();
  v1::RunCodeRequest request = Python(R"(
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)  # keeps the pipes open
    os._exit(0)
time.sleep(0.3)
print('parent ends')
)");
  request.add_args(marker);
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "parent ends\n");
  EXPECT_GE(result.response.evidence().leftover_processes(), 1U);
  EXPECT_LT(result.elapsed, absl::Seconds(10)) << "it waited for the pipe";
  EXPECT_TRUE(FindByCommand(daemon().pid(), marker).empty())
      << "the answer came before its processes were dead";
}

TEST_F(Hostile, ABackgroundJobDoesNotHoldTheAnswer) {
  const RunResult result = Run(Bash("sleep 300 & disown; echo done"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(Hostile, AForkBombEndsAtItsLimit) {
  const RunResult result = Run(WithWall(
      Bash("bomb() { bomb | bomb & }; bomb; sleep 60"), absl::Seconds(2)));
  ASSERT_THAT(result, IsOk());
  EXPECT_LT(result.elapsed, absl::Seconds(20));
  EXPECT_GE(result.response.evidence().counters().pids_limit_hits(), 1U);
}

TEST_F(Hostile, KillingEverythingHitsOnlyItself) {
  const RunResult result =
      Run(Bash("sleep 100 & kill -9 -1; kill -9 1; echo survived"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "survived\n");
}

TEST_F(Hostile, AStoppedProgramRunsIntoItsWallTime) {
  for (const char* target : {"$$", "-1", "0"}) {
    const RunResult result =
        Run(WithWall(Bash(absl::StrCat("sleep 60 & kill -STOP ", target,
                                       "; kill -STOP $$; sleep 60")),
                     absl::Seconds(1)));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT)) << target;
    EXPECT_LT(result.elapsed, absl::Seconds(10));
  }
}

TEST_F(Hostile, ASegfaultIsASignal) {
  const RunResult result =
      Run(Python("import ctypes\nprint('before', flush=True)\n"
                 "ctypes.string_at(0)"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_SIGNALED));
  EXPECT_EQ(result.response.signal().name(), "SIGSEGV");
  EXPECT_EQ(result.response.stdout().data(), "before\n");
}

TEST_F(Hostile, NoCoreFileAppears) {
  v1::RunCodeRequest request =
      Bash("bash -c 'kill -SEGV $$'; ls -A /workspace /tmp ~");
  request.add_fetch("core*");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(result.response.stdout().data(),
              ::testing::Not(::testing::HasSubstr("core")));
}

TEST_F(Hostile, WritingToClosedPipesAndFullOnesDoesNotHang) {
  const RunResult result =
      Run(Python("import os\n"
                 "for fd in (1, 2):\n"
                 "    os.set_blocking(fd, False)\n"
                 "    try:\n"
                 "        for _ in range(2000): os.write(fd, b'x' * 1000)\n"
                 "    except BlockingIOError: pass\n"));
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(Hostile, ADeepDirectoryTreeIsNoTrouble) {
  v1::RunCodeRequest request = Python(
      "import os\n"
      "for _ in range(3000):\n"
      "    os.mkdir('d')\n"
      "    os.chdir('d')\n"
      "open('leaf', 'w').write('x')");
  request.add_fetch("**/leaf");
  const RunResult result = Run(request);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(result.elapsed, absl::Seconds(20));
}

// Memory that a control group doesn't count by itself.
TEST_F(Hostile, SocketBuffersAreBounded) {
  const RunResult result = Run(Python(R"(
import socket
server = socket.create_server(('127.0.0.1', 0), backlog=500)
queued, ends = 0, []
for _ in range(400):
    client = socket.create_connection(server.getsockname())
    peer = server.accept()[0]
    ends += [client, peer]
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    client.setblocking(False)
    try:
        while True: queued += client.send(bytes(1 << 16))
    except OSError:
        pass
print(queued >> 20)
)"));
  // On cgroup v2 they are part of the group's memory, and may end the run.
  if (result.response.outcome() == v1::OUTCOME_MEMORY_LIMIT) return;
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  int mebibytes = -1;
  ASSERT_TRUE(absl::SimpleAtoi(result.response.stdout().data(), &mebibytes));
  EXPECT_GT(mebibytes, 0);
  EXPECT_LT(mebibytes, 200) << "MiB waited in sockets";
}

TEST_F(Hostile, TerminalEscapesAreOnlyBytes) {
  const RunResult result = Run(Bash("printf '\\033]0;title\\007\\033[2J'"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "\033]0;title\007\033[2J");
}

TEST_F(Hostile, RunsSeeNothingOfEachOther) {
  v1::RunCodeRequest first = Python(R"(
import os, socket, time
for place in ('/tmp', '/dev/shm', '/workspace', os.path.expanduser('~')):
    open(place + '/left-by-first', 'w').write('secret')
s = socket.socket(socket.AF_UNIX)
s.bind('\0abstract-first')
s.listen()
t = socket.socket()
t.bind(('127.0.0.1', 18555))
t.listen()
print('ready', flush=True)
time.sleep(30)
)");
  StreamCall call(client().stub(), first);
  ASSERT_TRUE(call.ReadUntil("ready"));
  const RunResult second = Run(Python(R"(
import os, socket
for place in ('/tmp', '/dev/shm', '/workspace', os.path.expanduser('~')):
    if os.path.exists(place + '/left-by-first'): print('file in', place)
for family, address in ((socket.AF_UNIX, '\0abstract-first'),
                        (socket.AF_INET, ('127.0.0.1', 18555))):
    try:
        socket.socket(family).connect(address)
        print('connected', address)
    except OSError:
        pass
print(sorted({int(p) for p in os.listdir('/proc') if p.isdigit()}
             - {1, os.getpid()}))
)"));
  ASSERT_THAT(second, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(second.response.stdout().data(), "[]\n")
      << "init and the program are all it should see";
}

}  // namespace
}  // namespace sandglass::testing
