// Programs in interpreters that waited for them, which hold the inner ends of
// their runner's pipes: whatever they say or do there ends their own run and
// nothing else. The fixture adds to each test that no process is left and the
// daemon still stands.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/calls/warm.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(20);

// What a runner says through descriptor 254: kind, value, step, step_count,
// nanoseconds.
constexpr char kPrelude[] = R"py(
import ctypes, fcntl, os, socket, struct, sys, time
def word(kind, value=0, ns=0): return struct.pack('=IiiIq', kind, value, 0, 0, ns)
def done(value): os.write(254, word(3, value))
)py";

class ProgramProtocol : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(
        WaitUntil([] { return HadRunner(Run(Python("print(1)"))); }, kSettle));
  }

  static v1::RunCodeRequest Program(const std::string& code) {
    return WithWall(Python(kPrelude + code), absl::Seconds(5));
  }
  static RunResult RunWarm(const std::string& code) {
    RunResult result = Run(Program(code));
    EXPECT_TRUE(HadRunner(result));
    EXPECT_LT(result.elapsed, absl::Seconds(10));
    return result;
  }
};

TEST_F(ProgramProtocol, APartOfAWordIsNone) {
  for (int size = 1; size < 24; ++size) {
    const RunResult result = RunWarm(
        absl::StrCat("os.write(254, word(3, 9)[:", size,
                     "])\nos.close(254)\nprint('after')\nsys.exit(4)\n"));
    EXPECT_EQ(result.response.exit_code(), 4) << size;
    EXPECT_EQ(result.response.stdout().data(), "after\n");
  }
}

TEST_F(ProgramProtocol, OtherWordsMeanNothing) {
  for (const char* kind : {"0", "1", "2", "4", "5", "0xffffffff"}) {
    const RunResult result =
        RunWarm(absl::StrCat("os.write(254, word(", kind,
                             ", 9, 1 << 62))\ntime.sleep(0.2)\nsys.exit(4)\n"));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << kind;
    EXPECT_EQ(result.response.exit_code(), 4) << kind;
    EXPECT_GE(result.response.usage().wall_time().nanos(), 200'000'000);
  }
}

// Files are at rest when they are taken, whatever was said: two names of one
// file have the same content.
constexpr char kDoneAndWritesOn[] = R"py(
file = os.open('a', os.O_RDWR | os.O_CREAT)
os.link('a', 'b')
if os.fork() == 0:
    n = 0
    while True:
        n += 1
        os.pwrite(file, bytes([n % 256]) * 300000, 0)
while os.stat('a').st_size == 0: time.sleep(0.005)
)py";

TEST_F(ProgramProtocol, WhoeverIsDoneAndWritesOnIsAtRestWhenFilesAreTaken) {
  std::vector<v1::RunCodeRequest> requests;
  for (int i = 0; i < 20; ++i) {
    v1::RunCodeRequest request = Program(
        absl::StrCat(kDoneAndWritesOn, "done(", i, ")\n",
                     i % 2 == 0 ? "os._exit(1)\n" : "time.sleep(0.05)\n"));
    request.add_fetch("a");
    request.add_fetch("b");
    requests.push_back(request);
  }
  const std::vector<RunResult> results = client().RunAll(requests, 4);
  for (int i = 0; i < 20; ++i) {
    const v1::RunCodeResponse& response = results[i].response;
    ASSERT_TRUE(results[i].status.ok()) << results[i].status.error_message();
    EXPECT_EQ(response.exit_code(), i);
    ASSERT_EQ(response.files_size(), 2);
    EXPECT_FALSE(response.files(0).content().empty());
    EXPECT_TRUE(response.files(0).content() == response.files(1).content());
  }
}

TEST_F(ProgramProtocol, FlagsOfItsEndsChangeNothingAtTheOthers) {
  const RunResult result = RunWarm(R"py(
import termios
def attempt(call, *args):
    try: call(*args)
    except (OSError, ValueError): pass
for fd in (0, 1, 2, 254):
    attempt(fcntl.fcntl, fd, fcntl.F_SETOWN, os.getpid())
    attempt(fcntl.fcntl, fd, fcntl.F_SETOWN, -1)
    attempt(fcntl.fcntl, fd, fcntl.F_SETOWN, 1)
    attempt(fcntl.fcntl, fd, fcntl.F_SETSIG, 9)
    attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    attempt(fcntl.ioctl, fd, termios.FIONREAD, b'1234')
    attempt(fcntl.ioctl, fd, termios.FIONBIO, b'\1\0\0\0')
    for size in (1, 4096, 1 << 20):
        attempt(fcntl.fcntl, fd, 1031, size)  # F_SETPIPE_SZ
    # Packets: what a reader doesn't take of one at once is dropped.
    attempt(fcntl.fcntl, fd, fcntl.F_SETFL, os.O_DIRECT | os.O_APPEND)
data = bytes(range(256)) * 1200
at = 0
while at < len(data):
    at += os.write(1, data[at:at + 1 + at % 9000])
os.write(254, word(3, 6) + b'x' * 4000)
time.sleep(30)
)py");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 6);
  EXPECT_EQ(result.response.stdout().total_bytes(), 256u * 1200);
}

// Writes less than output_total_bytes in all: on a busy machine the takers may
// get little of it.
TEST_F(ProgramProtocol, WhoeverTakesItsOwnOutputAwayHoldsNobodyUp) {
  const RunResult result = RunWarm(R"py(
taker = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)
for _ in range(2):
    if os.fork() == 0:
        while True:
            try: os.read(taker, 1 << 16)
            except OSError: pass
end = time.monotonic() + 1
for _ in range(100000):
    if time.monotonic() > end: break
    os.write(1, b'x' * 100)
done(3)
time.sleep(30)
)py");
  EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  EXPECT_EQ(result.response.exit_code(), 3);
}

TEST_F(ProgramProtocol, TheOtherEndsOfItsPipesLeadNowhere) {
  const RunResult result = RunWarm(R"py(
for fd in (0, 1, 2, 254):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            other = os.open(f'/proc/self/fd/{fd}', flags | os.O_NONBLOCK)
        except OSError:
            continue
        try: os.read(other, 4096)
        except OSError: pass
        if fd == 0:
            try: os.write(other, word(3, 9) * 100)
            except OSError: pass
sys.exit(5)
)py");
  EXPECT_EQ(result.response.exit_code(), 5);
}

// At the first moment, when the daemon may not have read what its runner said
// before it: the run is the program's, and ends as the program ends.
TEST_F(ProgramProtocol, WhoeverReadsItsReportPipeFirstEndsAsItEnds) {
  const std::string read =
      "f = os.open('/proc/self/fd/254', os.O_RDONLY | "
      "os.O_NONBLOCK)\n"
      "try: os.read(f, 4096)\n"
      "except OSError: pass\n";
  for (int i = 0; i < 60; ++i) {
    const RunResult result =
        RunWarm(read + (i % 2 == 0 ? "sys.exit(5)\n" : "os._exit(5)\n"));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT)) << i;
    EXPECT_EQ(result.response.exit_code(), 5) << i;
  }
}

TEST_F(ProgramProtocol, WhoeverPassesItsPipeOnEndsNoOtherRun) {
  // A child gets it in a message, and fills it once the parent is dead.
  const RunResult result = RunWarm(R"py(
left, right = socket.socketpair()
if os.fork() == 0:
    os.setsid()
    _, fds, _, _ = socket.recv_fds(right, 1, 1)
    parent = os.getppid()
    while os.getppid() == parent: pass
    while True:
        try: os.write(fds[0], word(3, 9) * 100)
        except OSError: pass
socket.send_fds(left, [b'x'], [254])
os.close(254)
os._exit(7)
)py");
  // The child may be faster than who reaps its parent.
  EXPECT_THAT(result.response.exit_code(), ::testing::AnyOf(7, 9));
  EXPECT_EQ(Run(Python("print(2)")).response.stdout().data(), "2\n");
}

TEST_F(ProgramProtocol, SplicesIntoItsPipesAreOutputAsAnyOther) {
  const RunResult result = RunWarm(R"py(
libc = ctypes.CDLL(None, use_errno=True)
read, write = os.pipe()
os.write(write, b'spliced')
libc.tee(read, 1, 7, 0)
libc.splice(read, None, 1, None, 7, 0)
page = ctypes.create_string_buffer(b'gifted!')
class Part(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
part = Part(ctypes.addressof(page), 7)
libc.vmsplice(1, ctypes.byref(part), 1, 0)
frame = ctypes.create_string_buffer(word(3, 8), 24)
part = Part(ctypes.addressof(frame), 24)
if libc.vmsplice(254, ctypes.byref(part), 1, 0) != 24: os._exit(8)
time.sleep(30)
)py");
  EXPECT_EQ(result.response.exit_code(), 8);
  EXPECT_LE(result.response.stdout().total_bytes(), 21u);
}

TEST_F(ProgramProtocol, RubyIsHeldToTheSame) {
  v1::RunCodeRequest request = Python("");
  request.set_language("ruby");
  request.set_code(R"rb(
pipe = IO.for_fd(254, 'wb', autoclose: false)
begin
  pipe.syswrite([1, 9, 0, 0, 0].pack('LllLq') * 1000)
  pipe.syswrite([3, 9, 0, 0, 0].pack('LllLq'))
rescue Errno::EPIPE
end
puts 'after'
exit! 4
)rb");
  RunResult result;
  EXPECT_TRUE(WaitUntil(
      [&] {
        result = Run(request);
        return HadRunner(result);
      },
      kSettle));
  EXPECT_EQ(result.response.exit_code(), 4);
}

// ---- node, started ahead ----

class NodeProtocol : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    ASSERT_TRUE(AwaitIdle(client(), kNode));
  }
};

TEST_F(NodeProtocol, WordsWithoutTheSecretAreOutput) {
  const std::string note = "sandglass: waiting\\n\\u0000sandglass: over " +
                           std::string(32, 'a') + " 7\\n";
  const RunResult result = RunPrestarted(
      client(), Node("const fs = require('fs');\nconst s = '" + note +
                     "';\nfor (const c of s) fs.writeSync(1, c);\n"
                     "fs.writeSync(1, s);\nprocess.exitCode = 4;\n"));
  EXPECT_EQ(result.response.exit_code(), 4);
  EXPECT_EQ(result.response.stdout().total_bytes(), 2u * (19 + 17 + 32 + 3));
}

TEST_F(NodeProtocol, WhatIsFoundInMemoryEndsNoOtherRun) {
  // All that looks like a secret in its own memory, where it may read that.
  const RunResult found = RunPrestarted(client(), Node(R"js(
const fs = require('fs');
const seen = new Set();
try {
  const mem = fs.openSync('/proc/self/mem', 'r');
  for (const line of fs.readFileSync('/proc/self/maps', 'latin1').split('\n')) {
    const at = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
    if (!at || seen.size > 200) continue;
    const start = BigInt('0x' + at[1]), end = BigInt('0x' + at[2]);
    if (end - start > 33554432n) continue;
    const bytes = Buffer.alloc(Number(end - start));
    try { fs.readSync(mem, bytes, 0, bytes.length, start); } catch { continue; }
    for (const hit of bytes.toString('latin1').matchAll(/[0-9a-f]{32}/g)) seen.add(hit[0]);
  }
} catch {}
fs.writeSync(1, JSON.stringify([...seen].slice(0, 200)));
)js"));
  ASSERT_TRUE(found.status.ok());
  const std::string& secrets = found.response.stdout().data();
  const RunResult result = RunPrestarted(
      client(), Node(absl::StrCat(
                    "const fs = require('fs');\nfor (const s of ",
                    secrets.empty() ? "[]" : secrets,
                    ") fs.writeSync(1, '\\0sandglass: over ' + s + ' 7\\n');\n"
                    "process.exitCode = 4;\n")));
  EXPECT_EQ(result.response.exit_code(), 4);
}

}  // namespace
}  // namespace sandglass::testing
