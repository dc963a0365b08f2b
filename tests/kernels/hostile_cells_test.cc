// Cells that do to their kernel what they can.

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Damage {
  const char* name;
  const char* code;
};

std::ostream& operator<<(std::ostream& os, const Damage& damage) {
  return os << damage.name;
}

class Damaged : public ::testing::TestWithParam<Damage> {};

TEST_P(Damaged, CellsAfterTheDamageRun) {
  KernelProcess kernel;
  const CellResult damage = kernel.Run(GetParam().code);
  EXPECT_NE(damage.status, "") << "the kernel has ended: " << damage;
  const CellResult after = kernel.Run("print('out')\n1 + 1");
  EXPECT_EQ(after.status, "ok") << after;
  EXPECT_EQ(after.Whole(), "out\n2\n") << after;
  EXPECT_EQ(kernel.Run("1 / 0").Error("name"), "ZeroDivisionError");
  kernel.InterruptLater(absl::Milliseconds(200));
  EXPECT_EQ(kernel.Run("while True: pass").status, "interrupted");
  kernel.SendLine(R"({"op":"quit"})");
  EXPECT_EQ(kernel.Wait(), 0);
}

const Damage kDamages[] = {
    {"NoStdout", "import sys\nsys.stdout = None"},
    {"NoStdoutAtAll", "import sys\ndel sys.stdout, sys.stderr, sys.stdin"},
    {"ClosedStdout", "import sys\nsys.stdout.close()\nsys.stderr.close()"},
    {"ClosedDescriptors", "import os\nfor fd in 0, 1, 2: os.close(fd)"},
    {"StdoutThatFails",
     "import sys\nclass S:\n  def flush(self): raise SystemExit\n"
     "sys.stderr = S()"},
    {"Trace", "import sys\nsys.settrace(lambda *a: 1 / 0)"},
    {"Profile", "import sys\nsys.setprofile(lambda *a: 1 / 0)"},
    {"TraceOfAll",
     "import sys\ndef t(*a): raise ValueError\n"
     "sys._getframe().f_trace = t\nsys.settrace(t)"},
    {"LowRecursionLimit", "import sys\nsys.setrecursionlimit(40)"},
    {"NoBuiltins", "import builtins\nvars(builtins).clear()"},
    {"OtherBuiltins",
     "import builtins\nfor name in ('isinstance', 'len', 'type', 'getattr', "
     "'set', 'zip'):\n  delattr(builtins, name)"},
    {"NoModules", "import sys\nsys.modules.clear()"},
    {"NoMain", "import sys\nsys.modules['__main__'] = None"},
    {"NoNames", "globals().clear()"},
    {"NoSourceLines", "import linecache, traceback\nlinecache.cache = None"},
    {"NoTracebacks", "import traceback\ntraceback.TracebackException = None"},
    {"NoJson", "import json\njson.dumps = json.JSONDecoder = None"},
    {"NoOs", "import os\nos._exit = os.write = os.getpid = None"},
    {"NoPosix", "import posix\nvars(posix).clear()"},
    {"NoFinders", "import sys\nsys.meta_path.clear()\nsys.path_hooks.clear()"},
    {"InterruptIgnored",
     "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"},
    {"InterruptLikeAnyProgram",
     "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)"},
    {"SignalsBlocked",
     "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))"},
    {"ClosedLoop",
     "import asyncio\nasync def f(): asyncio.get_running_loop().stop()\n"
     "await f()"},
    {"UnfinishedCancel",
     "import asyncio\nasync def f():\n  while True:\n    try:\n"
     "      await asyncio.sleep(0.01)\n    except asyncio.CancelledError: "
     "pass\n"
     "task = asyncio.create_task(f())\nraise KeyboardInterrupt"},
    {"ExceptHook", "import sys\nsys.excepthook = sys.displayhook = None"},
    {"AuditHook",
     "import sys\non = [True]\ndef hook(*a):\n  if on: raise ValueError\n"
     "sys.addaudithook(hook); on.clear();"},
    {"ChildThatComesBack",
     "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\ndisplay(1)"},
    {"ChildThatFails",
     "import os\npid = os.fork()\nif not pid: 1 / 0\nos.waitpid(pid, 0)"},
    {"MuchGarbage",
     "class D:\n  def __del__(self): raise ValueError\nd = [D()] * 2\ndel d"},
    {"OddOutputs", "Out = In = None\ndel _"},
    {"FullDescriptors",
     "kept = []\ntry:\n  while True: kept.append(open('/dev/null'))\n"
     "except OSError: pass"},
};

INSTANTIATE_TEST_SUITE_P(Python, Damaged, ::testing::ValuesIn(kDamages),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

TEST(HostileCell, AChildSpeaksNotForTheKernel) {
  KernelProcess kernel;
  const CellResult result = kernel.Run(
      "import os\npid = os.fork()\nif pid: print(os.waitpid(pid, 0)[1])\n"
      "else:\n  display('child')\n  print('of the child')\n  raise "
      "OSError('c')");
  EXPECT_EQ(result.out, "of the child\n256\n") << result;
  EXPECT_THAT(result.events, IsEmpty()) << result;
  EXPECT_THAT(result.err, HasSubstr("OSError: c"));
  EXPECT_EQ(kernel.Run("5").Shown(), "5\n");
}

// Where it can no longer be heard it ends, and never writes elsewhere.
TEST(HostileCell, AKernelWithoutItsChannelsEnds) {
  for (const char* code : {"import os\nos.closerange(3, 65536)",
                           "import os\nos.closerange(3, 65536)\n"
                           "kept = [open(f'f{n}', 'w') for n in range(300)]",
                           "import os\nnull = os.open('/dev/null', os.O_RDWR)\n"
                           "for fd in range(200, 256):\n  os.dup2(null, fd)"}) {
    KernelProcess kernel;
    const CellResult result = kernel.Run(code);
    EXPECT_EQ(result.status, "") << code << result;
    EXPECT_EQ(kernel.Wait(), 70) << code;
  }
}

TEST(HostileCell, AKernelThatDiesIsSeenToDie) {
  const struct {
    const char* code;
    int exit_code;
  } cases[] = {{"import os\nos._exit(5)", 5},
               {"import os\nos.kill(os.getpid(), 9)", 137},
               {"import ctypes\nctypes.string_at(0)", 139},
               {"import os\nos.execv('/bin/true', ['true'])", 0}};
  for (const auto& death : cases) {
    KernelProcess kernel;
    EXPECT_EQ(kernel.Run(death.code).status, "");
    EXPECT_EQ(kernel.Wait(), death.exit_code) << death.code;
  }
}

TEST(HostileCell, AThreadShowsNothingBetweenCells) {
  KernelProcess kernel;
  kernel.Run(
      "import threading, time\ndef show():\n  for i in range(100):\n"
      "    display(i)\n    time.sleep(0.001)\n"
      "thread = "
      "threading.Thread(target=show)\nthread.start()\ntime.sleep(.02)");
  absl::SleepFor(absl::Milliseconds(50));
  // Checks that all events are of this cell.
  const CellResult result = kernel.Run("thread.join()");
  EXPECT_EQ(result.status, "ok");
  EXPECT_LT(result.Events("display").size(), 90u);
}

TEST(HostileCell, ShowsMuchFromManyThreadsWhole) {
  KernelProcess kernel;
  const CellResult result = kernel.Run(
      "import threading, signal\n"
      // The next one comes after this one was shown, or a busy machine would
      // have them nest without end.
      "def alarm(*a):\n  display('alarm')\n"
      "  if more: signal.setitimer(signal.ITIMER_REAL, 0.001)\n"
      "more = True\nsignal.signal(signal.SIGALRM, alarm)\nalarm()\n"
      "def show(n):\n  for i in range(20): display(str(n) * 20000)\n"
      "ts = [threading.Thread(target=show, args=(n,)) for n in range(4)]\n"
      "for t in ts: t.start()\nshow(5)\nfor t in ts: t.join()\n"
      "more = False",
      {{"max_results", 100000}, {"max_result_bytes", 100000000}});
  EXPECT_EQ(result.status, "ok") << result.Error("traceback");
  size_t large = 0;
  for (const auto& event : result.Events("display")) {
    large += event["data"]["text/plain"].get<std::string>().size() == 20002;
  }
  EXPECT_EQ(large, 100u);
}

TEST(HostileCell, AnAlarmBetweenCellsHarmsNone) {
  KernelProcess kernel;
  kernel.Run(
      "import os, signal\ndef fail(*_):\n  os.rename('armed', 'rung')\n"
      "  raise ValueError('late')\n"
      "signal.signal(signal.SIGALRM, fail)");
  for (int i = 0; i < 5; ++i) {
    const CellResult set = kernel.Run(
        "open('armed', 'w').close()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.1);");
    EXPECT_EQ(set.status, "ok") << set;
    ASSERT_TRUE(WaitUntil(
        [&] { return std::filesystem::remove(kernel.home() + "/rung"); },
        absl::Seconds(20)));
    kernel.WaitUntilIdle();
    const CellResult after = kernel.Run("'next'");
    EXPECT_EQ(after.Shown(), "'next'\n") << after;
  }
}

TEST(HostileCell, AlarmsAtAnyTimeLoseNoCell) {
  KernelProcess kernel;
  kernel.Run(
      "import signal, threading, time\n"
      "def fail(*_): raise ValueError('late')\n"
      "signal.signal(signal.SIGALRM, fail)\n"
      "threading.Thread(target=time.sleep, args=(30,), daemon=True)"
      ".start()\n"
      "signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)");
  for (int i = 0; i < 2000; ++i) {
    const CellResult result = kernel.Run("for i in range(1000): pass");
    ASSERT_TRUE(result.status == "ok" || result.status == "error")
        << result << "; the kernel's end: " << kernel.Wait();
  }
  kernel.SendLine(R"({"op":"quit"})");
  EXPECT_EQ(kernel.Wait(), 0);
}

TEST(HostileCell, OddCommandsAreNoEnd) {
  KernelProcess kernel;
  for (const char* line : {"", "nothing", "[]", "5", R"({"op":"run"})",
                           R"({"op":"other"})", "{\"op\":\"run\",\"id\":"}) {
    kernel.SendLine(line);
  }
  EXPECT_EQ(kernel.Run("'alive'").Shown(), "'alive'\n");
  EXPECT_EQ(kernel.Run(std::string(3'000'000, '#') + "\n5").Shown(), "5\n");
  const CellResult deep = kernel.Run(std::string(5000, '(') + "\n");
  EXPECT_EQ(deep.status, "error");
  EXPECT_EQ(kernel.Run(std::string(20000, '-') + "1").status, "error");
  EXPECT_EQ(kernel.Run("'alive'").Shown(), "'alive'\n");
}

}  // namespace
}  // namespace sandglass::testing
