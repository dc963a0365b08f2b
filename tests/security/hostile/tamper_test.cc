// Programs that say more than they may through the one pipe a runner leaves
// them, that make noise for whoever watches over them, or that reach for what
// all jails and the host have in common. The fixture adds to each test that no
// process is left and the daemon still stands.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/calls/warm.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(20);

// Processor time that a process has used so far.
absl::Duration CpuTime(pid_t pid) {
  // proc(5): utime and stime are the 14th and 15th field, the second may hold
  // anything and ends with the last bracket.
  const std::string stat = ReadProc(pid, "stat");
  std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')'))));
  std::string skipped;
  for (int field = 2; field < 14; ++field) rest >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  rest >> user >> system;
  return absl::Seconds(static_cast<double>(user + system) /
                       static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

class Tamper : public DaemonTest {
 protected:
  // Until the zygote is there.
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(
        WaitUntil([] { return HadRunner(Run(Python("print(1)"))); }, kSettle));
  }

  static RunResult RunWarm(const std::string& code) {
    RunResult result = Run(WithWall(Python(code), absl::Seconds(5)));
    EXPECT_TRUE(HadRunner(result));
    return result;
  }

  static absl::Duration SpawnersCpuTime() {
    absl::Duration sum;
    for (const Process& process : daemon().Processes()) {
      if (NameOf(process.pid) == "sandglass-spawn") sum += CpuTime(process.pid);
    }
    return sum;
  }
};

// Read to its end, which never comes, it would keep a place for a run for good:
// no limit and no cancellation would be looked at meanwhile.
TEST_F(Tamper, WhoeverSaysForeverThatHeIsDoneIsHeardOnce) {
  const RunResult result = RunWarm(R"(
import fcntl, os, struct
done = struct.pack('IiiIq', 3, 7, 0, 0, 0)
fcntl.fcntl(254, 1031, 1 << 20)  # F_SETPIPE_SZ
block, at = done * 24576, 0
while True:
    at = (at + os.write(254, block[at:])) % len(done)
)");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 7);
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(Tamper, WhoeverIsDoneAndWritesOnIsReadToWhereHeWas) {
  const RunResult result = RunWarm(R"(
import fcntl, os, struct
fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ
file = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)
os.write(file, bytes(1 << 20))
os.write(1, b'before')
os.write(254, struct.pack('IiiIq', 3, 7, 0, 0, 0))
while True:
    os.sendfile(1, file, 0, 1 << 20)  # faster than anybody reads
)");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 7);
  EXPECT_THAT(result.response.stdout().data(), ::testing::StartsWith("before"));
  EXPECT_LT(result.elapsed, absl::Seconds(10));
}

TEST_F(Tamper, RubbishInTheReportKeepsNobodyBusy) {
  const absl::Duration before = CpuTime(daemon().pid());
  const RunResult result = RunWarm(R"(
import fcntl, os, time
fcntl.fcntl(254, 1031, 1 << 20)  # F_SETPIPE_SZ
end = time.monotonic() + 3
rubbish = bytes(1 << 20)
while time.monotonic() < end:
    try:
        os.write(254, rubbish)
    except BrokenPipeError:
        time.sleep(0.01)
)");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_LT(CpuTime(daemon().pid()) - before, absl::Milliseconds(500));
}

// A runner is the spawner's child.
TEST_F(Tamper, AProgramThatStopsAndGoesOnKeepsNobodyBusy) {
  const absl::Duration before = SpawnersCpuTime();
  const RunResult result = RunWarm(R"(
import os, signal, time
runner = os.getpid()
child = os.fork()
if child == 0:
    end = time.monotonic() + 3
    times = 0
    while time.monotonic() < end:
        os.kill(runner, signal.SIGSTOP)
        os.kill(runner, signal.SIGCONT)
        times += 1
    print(times, flush=True)
    os._exit(0)
os.waitpid(child, 0)
)");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  int times = 0;
  ASSERT_TRUE(absl::SimpleAtoi(result.response.stdout().data(), &times));
  EXPECT_GT(times, 1000);
  EXPECT_LT(SpawnersCpuTime() - before, absl::Milliseconds(200));
}

// ---- what all have in common ----

// How many pages of a file the host has in memory.
size_t PagesInMemory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const off_t size = ::lseek(fd, 0, SEEK_END);
  void* mapping =
      ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  EXPECT_NE(mapping, MAP_FAILED) << path;
  std::vector<unsigned char> there((static_cast<size_t>(size) + 4095) / 4096);
  EXPECT_EQ(::mincore(mapping, static_cast<size_t>(size), there.data()), 0);
  ::munmap(mapping, static_cast<size_t>(size));
  return static_cast<size_t>(std::count_if(
      there.begin(), there.end(), [](unsigned char page) { return page & 1; }));
}

TEST_F(Tamper, NobodyDropsTheImagesPages) {
  // Large, and text that nothing maps.
  const std::string file = "/usr/share/common-licenses/GPL-3";
  ASSERT_FALSE(ReadFile(file).empty());
  const size_t before = PagesInMemory(file);
  ASSERT_GT(before, 5U);
  v1::RunCodeRequest request = Python(
      "import os, sys\n"
      "file = os.open(sys.argv[1], os.O_RDONLY)\n"
      "for _ in range(10):\n"
      "    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)\n");
  request.add_args(file);
  EXPECT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(PagesInMemory(file), before);
}

// Where the host's disk hears of it, each takes a millisecond or more.
TEST_F(Tamper, NobodyFlushesTheHostsDisk) {
  const RunResult result = RunWarm(R"(
import os, time
began = time.monotonic()
for path in '/usr', '/usr/bin/env':
    file = os.open(path, os.O_RDONLY)
    for _ in range(5000):
        os.fsync(file)
        os.fdatasync(file)
print(time.monotonic() - began < 2)
)");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(result.response.stdout().data(), "True\n");
}

// Made ahead, theirs would hold up those of everybody else.
TEST_F(Tamper, ASmallShareOfTheProcessorHasNoInterpreterMadeAhead) {
  for (const char* language : {"python", "ruby", "javascript"}) {
    v1::RunCodeRequest request = Program(language, "");
    request.set_code(request.language() == "javascript" ? "console.log(1)"
                     : request.language() == "ruby"     ? "puts 1"
                                                        : "print(1)");
    request.mutable_limits()->set_cpu_millis(100);
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "1\n");
    EXPECT_EQ(result.response.timings().kind(), "exec");
  }
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  for (const v1::PoolKind& pool : info.pool()) {
    if (pool.kind() == "exec") continue;
    // As at the start: one key of each kind.
    EXPECT_EQ(std::count_if(info.pool().begin(), info.pool().end(),
                            [&](const v1::PoolKind& other) {
                              return other.kind() == pool.kind();
                            }),
              1)
        << pool.kind();
  }
}

}  // namespace
}  // namespace sandglass::testing
