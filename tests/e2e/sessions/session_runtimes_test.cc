// What the runtimes that a session's commands and programs start take the
// machine for.

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

class SessionRuntimes : public DaemonTest {};

// By each runtime's own report, with and without the variables for it.
TEST_F(SessionRuntimes, RuntimesSeeTheLimitsAndNotTheMachine) {
  v1::CreateSessionRequest create;
  create.mutable_limits()->set_memory_bytes(uint64_t{256} << 20);
  create.mutable_limits()->set_cpu_millis(1000);
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  const auto prints = [&](const std::string& command) {
    v1::RunCodeRequest request = session.Cell(command);
    request.set_language("bash");
    const RunResult result = client().Run(request);
    EXPECT_THAT(result.status, IsOk());
    return result.response.stdout().data();
  };
  EXPECT_EQ(prints("for run in '' 'env -i'; do $run /usr/bin/java "
                   "-XX:+PrintFlagsFinal -XshowSettings:system -version 2>&1 | "
                   "awk '/Effective CPU Count/ {print $4} "
                   "/ MaxHeapSize/ {print ($4 <= 2 ^ 27)}'; done"),
            "1\n1\n1\n1\n");
  constexpr char kNode[] =
      "console.log(os.cpus().length, os.totalmem() / 2 ** 20, "
      "v8.getHeapStatistics().heap_size_limit < 512 * 2 ** 20)";
  EXPECT_EQ(prints(absl::StrCat("node -e '", kNode, "'; env -i node -e '",
                                kNode, "'")),
            "1 256 true\n1 256 true\n");
  EXPECT_EQ(prints("python3 -c 'import os; print(os.cpu_count())'; nproc"),
            "1\n1\n");
  EXPECT_EQ(prints("free -m | awk '/Mem/ {print $2}'"
                   "; grep -c ^processor /proc/cpuinfo; grep -c ^cpu /proc/stat"
                   "; cat /sys/devices/system/cpu/online"),
            "256\n1\n2\n0\n");
  // Where a runtime looks for its group.
  EXPECT_EQ(prints("cd /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup) && "
                   "cat memory.max cpu.max"),
            "268435456\n100000 100000\n");
  EXPECT_EQ(prints("(echo 1 >/sys/fs/cgroup/run/memory.max; "
                   "echo 1 >/proc/meminfo) 2>&1 | grep -c Read-only"),
            "2\n");
}

TEST_F(SessionRuntimes, CommandsOfAGoSessionHaveThePreparedCache) {
  v1::CreateSessionRequest create;
  create.set_language("go");
  TestSession session(client(), create);
  ASSERT_THAT(session.status(), IsOk());
  const auto execs = v1::ExecService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  // What go made anew are files; what was there are links.
  const ExecResult built = Execute(
      *execs,
      Command(session.id(),
              "printf 'module main\\n\\ngo 1.19\\n' >go.mod; "
              "printf 'package main\\nimport \"net/http\"\\nfunc main() { "
              "println(http.StatusText(200)) }\\n' >main.go; "
              "go build -o x . && ./x 2>&1 && "
              "find ~/.cache/go-build -name '*-d' -type f | wc -l && "
              "go vet ."));
  ASSERT_THAT(built.status, IsOk());
  EXPECT_EQ(built.err(), "");
  ASSERT_TRUE(absl::StartsWith(built.out(), "OK\n")) << built.out();
  EXPECT_LT(std::strtol(built.out().c_str() + 3, nullptr, 10), 20)
      << built.out();
}

}  // namespace
}  // namespace sandglass::testing
