// A kernel's last cell ends as a program of its text does: what it has started
// goes on to its end, handlers of the end are called, and the exit code is the
// interpreter's.

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;

struct LastCell {
  const char* language;
  const char* name;
  const char* code;
  const char* whole;  // what it writes, then what it shows
  int exit_code = 0;
  const char* error = "";  // its name
};

std::ostream& operator<<(std::ostream& os, const LastCell& cell) {
  return os << cell.language << " " << cell.name;
}

void ExpectEnd(KernelProcess& kernel, const LastCell& cell) {
  const CellResult result = kernel.RunLast(cell.code);
  EXPECT_EQ(result.Whole(), cell.whole) << result;
  EXPECT_EQ(result.exit_code, cell.exit_code) << result;
  EXPECT_EQ(result.Error("name"), cell.error) << result;
  EXPECT_THAT(result.err, IsEmpty());
}

class LastCells : public ::testing::TestWithParam<LastCell> {};

TEST_P(LastCells, EndsAsAProgram) {
  KernelProcess kernel({.language = GetParam().language});
  ExpectEnd(kernel, GetParam());
}

class LastCellsByZygote : public ::testing::TestWithParam<LastCell> {};

TEST_P(LastCellsByZygote, EndsAsAProgram) {
  KernelProcess kernel({.zygote = "lean"});
  ExpectEnd(kernel, GetParam());
}

const LastCell kPython[] = {
    {"python", "Value", "print('out')\n6 * 7", "out\n42\n"},
    {"python", "Thread",
     "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), "
     "print('worker done'))).start()\nprint('main done')\n1",
     "main done\nworker done\n1\n"},
    {"python", "Executor",
     "from concurrent.futures import ThreadPoolExecutor\nimport time\n"
     "ThreadPoolExecutor(1).submit(lambda: (time.sleep(.1), print('job')));",
     "job\n"},
    {"python", "Timer",
     "import threading\nthreading.Timer(.1, print, ['timer']).start()",
     "timer\n"},
    {"python", "Process",
     "import multiprocessing, time\ndef f():\n  time.sleep(.1); "
     "print('child')\n"
     "multiprocessing.Process(target=f).start()\nprint('main')",
     "main\nchild\n"},
    {"python", "ExitHandlers",
     "import atexit\natexit.register(print, 'first')\n"
     "atexit.register(lambda: print(x))\nx = 'second'",
     "second\nfirst\n"},
    {"python", "Finalizers",
     "class D:\n  def __del__(self): print('gone')\nd = D()", "gone\n"},
    {"python", "ThreadThatDisplays",
     "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), "
     "display('late'))).start()",
     "'late'\n"},
    {"python", "HandlerThatDisplays",
     "import atexit\natexit.register(lambda: (display('late'), print('end')));",
     "end\n'late'\n"},
    {"python", "StartsItself",
     "import sys, subprocess\nif sys.argv[1:]: print('child')\n"
     "else: subprocess.run([sys.executable, __file__, 'child'], check=True);",
     "child\n"},
    {"python", "Error",
     "import threading, time, atexit\natexit.register(print, 'bye')\n"
     "threading.Thread(target=lambda: (time.sleep(.1), "
     "print('worker'))).start()"
     "\n1 / 0",
     "worker\nbye\n", 1, "ZeroDivisionError"},
    {"python", "SyntaxError", "def", "", 1, "SyntaxError"},
    {"python", "Exit",
     "import sys, atexit\natexit.register(print, 'bye')\nsys.exit(3)", "bye\n",
     3},
    {"python", "ExitOfAHandler",
     "import atexit, os\natexit.register(lambda: os._exit(9));", "", 9},
    {"python", "Signal", "import os\nos.kill(os.getpid(), 15)", "", 128 + 15},
    {"python", "ChildThatComesBack",
     "import os, atexit\natexit.register(lambda: print(name))\nname = 'child'\n"
     "pid = os.fork()\nif pid: name = 'parent'; print(os.waitpid(pid, 0)[1])",
     "child\n0\nparent\n"},
    {"python", "Loop",
     "import asyncio\nasync def f():\n  try: await asyncio.sleep(9)\n"
     "  finally: print('cancelled')\ntask = asyncio.create_task(f())\n"
     "await asyncio.sleep(0)",
     "cancelled\n"},
    {"python", "ClosedChannel",
     "import os\nprint('kept')\nos.closerange(3, 300)", "kept\n"},
    {"python", "LowRecursionLimit",
     "import sys\nprint('out')\nsys.setrecursionlimit(40)", "out\n"},
    {"python", "ShyObjects",
     "class Shy:\n  @property\n  def __class__(self): raise RuntimeError\n"
     "  def __repr__(self): return 'shy'\n  def __del__(self): pass\n"
     "import sys\nsys.kept = Shy()\nsys.kept",
     "shy\n"},
};

const LastCell kOthers[] = {
    {"javascript", "Value", "console.log('out'); 6 * 7", "out\n42\n"},
    {"javascript", "Loop",
     "setTimeout(() => console.log('timer'), 100);\n"
     "require('fs').readFile('/dev/null', () => console.log('read'));\n"
     "console.log('main'); 1",
     "main\nread\ntimer\n1\n"},
    {"javascript", "StartsItself",
     "const {Worker, isMainThread} = require('worker_threads');\n"
     "if (isMainThread) new Worker(__filename); else console.log('worker'); 0",
     "worker\n0\n"},
    {"javascript", "ExitHandlers",
     "process.on('exit', (code) => console.log('exit', code));\n"
     "process.on('beforeExit', () => console.log('before'));\n"
     "process.exitCode = 4; 0",
     "before\nexit 4\n0\n", 4},
    {"javascript", "LateError",
     "process.on('exit', (code) => console.log('exit', code));\n"
     "setTimeout(() => { throw new RangeError('late'); }, 20);\n"
     "setTimeout(() => console.log('no'), 5000); 0",
     "exit 1\n0\n", 1, "RangeError"},
    {"javascript", "OwnInterruptHandler",
     "process.on('SIGINT', () => console.log('own'));\n"
     "setTimeout(() => {}, 100); process.kill(process.pid, 'SIGINT'); 0",
     "own\n0\n"},
    {"javascript", "Error",
     "setTimeout(() => console.log('no'), 1); throw new TypeError('x');", "", 1,
     "TypeError"},
    {"javascript", "Rejection",
     "setTimeout(() => Promise.reject(new TypeError('x')), 1); 0", "0\n", 1,
     "TypeError"},
    {"javascript", "ErrorThatAHandlerTakes",
     "process.on('uncaughtException', (e) => console.log('took', e.message));\n"
     "setTimeout(() => console.log('on'), 20); throw new Error('it');",
     "took it\non\n"},
    {"javascript", "AwaitOfWhatNothingSettles",
     "process.on('exit', (code) => console.log(code, process.exitCode));\n"
     "await new Promise(() => {}); console.log('no')",
     "0 13\n", 13, "UnsettledAwait"},
    {"javascript", "ValueThatNothingSettles", "new Promise(() => {})",
     "Promise { <pending> }\n"},
    {"javascript", "ExitWhereNothingSettles",
     "setTimeout(() => process.exit(), 1); await new Promise(() => {})", ""},
    {"javascript", "RejectionThatAHandlerTakes",
     "process.on('unhandledRejection', (e) => console.log('took', "
     "e.message));\n"
     "setTimeout(() => console.log('on'), 20); Promise.reject(new Error('it'))",
     "took it\non\n"},
    {"javascript", "AwaitedErrorThatAHandlerTakes",
     "process.on('uncaughtException', (e) => console.log('took', e.message));\n"
     "await 1; throw new Error('it')",
     "took it\n"},
    {"javascript", "ErrorOfAHandler",
     "process.on('uncaughtException', () => { throw new TypeError('x'); });\n"
     "throw new Error('it')",
     "", 7, "TypeError"},
    {"javascript", "Exit",
     "process.on('exit', () => console.log('bye')); process.exit(3)", "bye\n",
     3},
    {"javascript", "TimerThatDisplays",
     "setTimeout(() => { display('late'); }, 20); undefined", "'late'\n"},
    {"ruby", "Value", "puts 'out'\n6 * 7", "out\n42\n"},
    {"ruby", "ExitHandlers",
     "at_exit { puts 'first' }\nat_exit { puts \"second #{$!.inspect}\" }\nnil",
     "second nil\nfirst\n"},
    {"ruby", "Error", "at_exit { puts \"saw #{$!.class}\" }\nraise 'no'",
     "saw RuntimeError\n", 1, "RuntimeError"},
    {"ruby", "ErrorsFramesAreTheProgramsAlone",
     "$stderr = $stdout\nProcess.wait(fork { raise 'child' })\n"
     "at_exit { raise TypeError, 'x' }\nat_exit { puts $!.backtrace }\n"
     "raise 'no'",
     "<cell 1>:2:in `block in <main>': child (RuntimeError)\n"
     "\tfrom <cell 1>:2:in `fork'\n\tfrom <cell 1>:2:in `<main>'\n"
     "<cell 1>:5:in `<main>'\n"
     "<cell 1>:3:in `block in <main>': x (TypeError)\n"
     "<cell 1>:5:in `<main>': no (RuntimeError)\n"
     "<cell 1>:5:in `<main>': no (RuntimeError)\n",
     1, "RuntimeError"},
    {"ruby", "Exit", "at_exit { puts 'bye' }\nexit 3", "bye\n", 3},
    {"ruby", "ExitOfAHandler", "at_exit { exit 7 }\nnil", "", 7},
    {"ruby", "ChildThatComesBack",
     "at_exit { puts $name }\n$name = 'child'\n"
     "if (pid = fork) then Process.wait(pid); $name = 'parent' end; nil",
     "child\nparent\n"},
    {"bash", "Plain", "echo out; (exit 5)", "out\n", 5},
    {"bash", "ExitTrap", "trap 'echo bye $?' EXIT; echo on; (exit 4)",
     "on\nbye 4\n", 4},
    {"bash", "ExitTrapAfterExit", "trap 'echo bye $?' EXIT; exit 3", "bye 3\n",
     3},
    {"bash", "ErrorUnderE", "set -e; trap 'echo bye $?' EXIT; false; echo no",
     "bye 1\n", 1},
    {"bash", "Signal", "echo on; kill -TERM $$; echo no", "on\n", 128 + 15},
    {"bash", "IFSInTheTrap",
     "IFS=:; x=a:b; trap 'for i in $x; do echo $i; done' EXIT", "a\nb\n"},
    {"bash", "FirstStatus", "echo $?", "0\n"},
};

TEST(LastCellsArguments, AreTheirs) {
  for (const auto& [language, code, out] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"bash", "echo $# \"$2\"", "2 b c\n"},
           {"java",
            "class A { public static void main(String[] args) { "
            "System.out.println(args.length + \" \" + args[1]); } }",
            "2 b c\n"}}) {
    KernelProcess kernel({.language = language});
    EXPECT_EQ(kernel.RunLast(code, {{"args", {"\"\\\n", "b c"}}}).out, out);
  }
}

std::string LastCellName(const ::testing::TestParamInfo<LastCell>& test) {
  return std::string(test.param.language) + test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Python, LastCells, ::testing::ValuesIn(kPython),
                         LastCellName);
INSTANTIATE_TEST_SUITE_P(Others, LastCells, ::testing::ValuesIn(kOthers),
                         LastCellName);
INSTANTIATE_TEST_SUITE_P(Python, LastCellsByZygote,
                         ::testing::ValuesIn(kPython), LastCellName);

}  // namespace
}  // namespace sandglass::testing
