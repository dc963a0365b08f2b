// What a cell of Python does and what is kept for the next.

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"

namespace sandglass::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Cells of one kernel, and what the last of them wrote and showed.
struct Cells {
  const char* name;
  std::vector<const char*> cells;
  const char* expected;
};

std::ostream& operator<<(std::ostream& os, const Cells& cells) {
  return os << cells.name;
}

std::string NameOf(
    const ::testing::TestParamInfo<std::tuple<Cells, const char*>>& info) {
  return absl::StrCat(std::get<0>(info.param).name,
                      *std::get<1>(info.param) == 0 ? "" : "ByZygote");
}

// In both ways in which a kernel starts.
class Kept : public ::testing::TestWithParam<std::tuple<Cells, const char*>> {};

TEST_P(Kept, TheLastCellShowsTheKeptState) {
  const auto& [session, zygote] = GetParam();
  KernelProcess kernel({.zygote = zygote});
  CellResult last;
  for (const char* cell : session.cells) {
    last = kernel.Run(cell);
    EXPECT_EQ(last.status, "ok") << cell << "\n" << last;
  }
  EXPECT_EQ(last.Whole(), session.expected) << last;
  EXPECT_EQ(last.count, static_cast<int>(session.cells.size()));
}

const Cells kKept[] = {
    {"Variable", {"x = 6", "x * 7"}, "42\n"},
    {"Function", {"def f(n):\n  return n + 1", "f(1)"}, "2\n"},
    {"Import", {"import math", "math.floor(2.5)"}, "2\n"},
    {"Directory",
     {"import os\nos.mkdir('d')\nos.chdir('d')",
      "os.path.basename(os.getcwd())"},
     "'d'\n"},
    {"ModuleOfTheDirectory",
     {"open('mine.py', 'w').write('value = 5')", "import mine\nmine.value"},
     "5\n"},
    {"NameOfMain",
     {"__name__, __builtins__.__name__"},
     "('__main__', 'builtins')\n"},
    {"NoArguments", {"import sys\nsys.argv"}, "['main.py']\n"},
    {"ItselfAsTheMainFile",
     {"import os\n__file__ == os.path.abspath('main.py')"},
     "True\n"},
    {"ItsDocumentation", {"'Text.'\nprint(__doc__)"}, "Text.\n"},
    {"OutputOfTheNextAfterDup2",
     {"import os\nos.dup2(os.open('o', os.O_WRONLY | os.O_CREAT), 1)\n"
      "print('in it')\nos.system('echo too')\nNone",
      "print('back', open('o').read(), end='')"},
     "back in it\ntoo\n"},
    {"OutputThenResult", {"print('a')\n'b'"}, "a\n'b'\n"},
    {"NoneIsNotShown", {"None"}, ""},
    {"StatementsShowNothing", {"x = 1"}, ""},
    {"OnlyTheLastExpression", {"1\n2"}, "2\n"},
    {"TheLastOfALine", {"1; 2"}, "2\n"},
    {"SemicolonKeepsQuiet", {"x = 1\nx;"}, ""},
    {"SemicolonAfterParentheses", {"(1 +\n 2) ; # quiet"}, ""},
    {"SemicolonInAComment", {"3 # ;"}, "3\n"},
    {"SemicolonInAString", {"'a;'"}, "'a;'\n"},
    {"SemicolonAfterOtherLetters", {"'\xC3\xA4\xC3\xB6';"}, ""},
    {"AStringIsNoDocumentation", {"'text'", "__doc__"}, ""},
    {"LongReprIsOneLine",
     {"list(range(30))"},
     "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, "
     "20, 21, 22, 23, 24, 25, 26, 27, 28, 29]\n"},
    {"LastResult", {"5", "_ + 1", "(_, __)"}, "(6, 5)\n"},
    {"NumberedResults",
     {"5", "'x'", "_1, _2, Out"},
     "(5, 'x', {1: 5, 2: 'x'})\n"},
    {"Inputs", {"1 + 1", "In"}, "['', '1 + 1', 'In']\n"},
    {"AnUnderscoreOfTheUsersStays", {"_ = 'mine'", "5", "_"}, "'mine'\n"},
    {"FutureImport",
     {"from __future__ import annotations",
      "def f(x: Unknown): pass\nf.__annotations__"},
     "{'x': 'Unknown'}\n"},
    {"Source",
     {"import inspect\ndef f():\n  return 1",
      "print(inspect.getsource(f), end='')"},
     "def f():\n  return 1\n"},
    {"Pickle",
     {"class A:\n  def __init__(self): self.x = 3",
      "import pickle\npickle.loads(pickle.dumps(A())).x"},
     "3\n"},
    {"Dataclass",
     {"from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int",
      "import typing\nP(3), typing.get_type_hints(P)"},
     "(P(x=3), {'x': <class 'int'>})\n"},
    {"WorkersByFork",
     {"import multiprocessing\ndef double(x): return 2 * x",
      "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
      "  result = pool.map(double, [1, 2])\nresult"},
     "[2, 4]\n"},
    {"Await",
     {"import asyncio\nasync def f():\n  await asyncio.sleep(0.001)\n  return "
      "7",
      "await f()"},
     "7\n"},
    {"AwaitAndStatements",
     {"import asyncio\nx = await asyncio.sleep(0, 3)\nprint(x)\nx + 1"},
     "3\n4\n"},
    {"AsyncComprehension",
     {"async def numbers():\n  yield 1\n  yield 2",
      "[n async for n in numbers()]"},
     "[1, 2]\n"},
    {"ATaskGoesOnInTheNextCell",
     {"import asyncio\ntask = asyncio.create_task(asyncio.sleep(0.01, 'v'))",
      "await task"},
     "'v'\n"},
    {"OwnLoops",
     {"import asyncio\nasync def f(): return 1", "await f()",
      "asyncio.run(f())", "await f()",
      "asyncio.get_event_loop().run_until_complete(f())"},
     "1\n"},
    {"ChildrensOutputInOrder",
     {"import subprocess\nprint('a')\nsubprocess.run(['echo', "
      "'b'])\nprint('c');"},
     "a\nb\nc\n"},
    {"OutputOfTheCLibrary",
     {"import ctypes\nctypes.CDLL(None).printf(b'x%d\\n', 5);"},
     "x5\n"},
    {"AReplacedStreamStays",
     {"import io, sys\nold, sys.stdout = sys.stdout, io.StringIO()",
      "print('hidden')", "sys.stdout, new = old, sys.stdout", "new.getvalue()"},
     "'hidden\\n'\n"},
    {"AThreadGoesOn",
     {"import threading\nend = threading.Event()\n"
      "thread = threading.Thread(target=lambda: (end.wait(), print('late')))\n"
      "thread.start()",
      "end.set()\nthread.join()"},
     "late\n"},
    {"NullBytesInText", {"'\\0'"}, "'\\x00'\n"},
    {"OtherAlphabets",
     {"'\xE2\x82\xAC \xF0\x9F\x98\x80'"},
     "'\xE2\x82\xAC \xF0\x9F\x98\x80'\n"},
};

INSTANTIATE_TEST_SUITE_P(Python, Kept,
                         ::testing::Combine(::testing::ValuesIn(kKept),
                                            ::testing::Values("", "lean")),
                         NameOf);

TEST(PythonCell, ReadsItsInputAndNoOther) {
  KernelProcess kernel;
  const CellResult first =
      kernel.Run("input('? ') + input()",
                 {{"stdin", absl::Base64Escape("one\ntwo\nthree\n")}});
  EXPECT_EQ(first.Whole(), "? 'onetwo'\n") << first;
  const CellResult second = kernel.Run("input()");
  EXPECT_EQ(second.Error("name"), "EOFError") << second;
  const CellResult third =
      kernel.Run("import subprocess\nsubprocess.run('cat');",
                 {{"stdin", absl::Base64Escape("of a child\n")}});
  EXPECT_EQ(third.out, "of a child\n") << third;
  const std::string large(200'000, 'x');
  const CellResult fourth = kernel.Run("import sys\nlen(sys.stdin.read())",
                                       {{"stdin", absl::Base64Escape(large)}});
  EXPECT_EQ(fourth.Shown(), "200000\n") << fourth;
}

TEST(PythonCell, WithoutRichResultsIsAPlainProgram) {
  KernelProcess kernel;
  const CellResult result = kernel.Run("print('a')\n5", {{"rich", false}});
  EXPECT_EQ(result.out, "a\n");
  EXPECT_THAT(result.events, IsEmpty()) << result;
  EXPECT_EQ(result.status, "ok");
}

struct Failing {
  const char* name;
  const char* code;
  const char* error;
  const char* value;
  const char* traceback;
};

// Without the lines that point at a part of the one above: which, depends on
// the version of Python.
std::string WithoutMarks(const std::string& traceback) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(traceback, '\n')) {
    if (line.find_first_not_of(" ~^") == absl::string_view::npos) continue;
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

class Errors : public ::testing::TestWithParam<Failing> {};

TEST_P(Errors, AreTold) {
  KernelProcess kernel;
  const CellResult result = kernel.Run(GetParam().code);
  EXPECT_EQ(result.status, "error");
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_THAT(result.Events("error"), SizeIs(1)) << result;
  EXPECT_EQ(result.Error("name"), GetParam().error);
  EXPECT_EQ(result.Error("value"), GetParam().value);
  EXPECT_EQ(WithoutMarks(result.Error("traceback")),
            WithoutMarks(GetParam().traceback));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(kernel.Run("'goes on'").Shown(), "'goes on'\n");
}

const Failing kErrors[] = {
    {"Plain", "x = 1\nx / 0", "ZeroDivisionError", "division by zero",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 2, in <module>\n"
     "    x / 0\n"
     "    ~~^~~\n"
     "ZeroDivisionError: division by zero\n"},
    {"InAFunction", "def f():\n  raise KeyError('k')\nf()", "KeyError", "'k'",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 3, in <module>\n"
     "    f()\n"
     "  File \"<cell 1>\", line 2, in f\n"
     "    raise KeyError('k')\n"
     "KeyError: 'k'\n"},
    {"Chained",
     "try:\n  1 / 0\nexcept Exception as e:\n  raise ValueError(2) from e",
     "ValueError", "2",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 2, in <module>\n"
     "    1 / 0\n"
     "    ~~^~~\n"
     "ZeroDivisionError: division by zero\n\n"
     "The above exception was the direct cause of the following exception:\n\n"
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 4, in <module>\n"
     "    raise ValueError(2) from e\n"
     "ValueError: 2\n"},
    {"Syntax", "x = = 2", "SyntaxError", "invalid syntax (<cell 1>, line 1)",
     "  File \"<cell 1>\", line 1\n"
     "    x = = 2\n"
     "        ^\n"
     "SyntaxError: invalid syntax\n"},
    {"Indentation", "if True:\nx = 1", "IndentationError",
     "expected an indented block after 'if' statement on line 1 (<cell 1>, "
     "line 2)",
     "  File \"<cell 1>\", line 2\n"
     "    x = 1\n"
     "    ^\n"
     "IndentationError: expected an indented block after 'if' statement on "
     "line 1\n"},
    {"Notes", "e = ValueError('v')\ne.add_note('a note')\nraise e",
     "ValueError", "v",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 3, in <module>\n"
     "    raise e\n"
     "ValueError: v\n"
     "a note\n"},
    {"Group", "raise ExceptionGroup('g', [ValueError(1)])", "ExceptionGroup",
     "g (1 sub-exception)",
     "  + Exception Group Traceback (most recent call last):\n"
     "  |   File \"<cell 1>\", line 1, in <module>\n"
     "  |     raise ExceptionGroup('g', [ValueError(1)])\n"
     "  | ExceptionGroup: g (1 sub-exception)\n"
     "  +-+---------------- 1 ----------------\n"
     "    | ValueError: 1\n"
     "    +------------------------------------\n"},
    {"InACoroutine", "async def f():\n  raise OSError('o')\nawait f()",
     "OSError", "o",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 3, in <module>\n"
     "    await f()\n"
     "  File \"<cell 1>\", line 2, in f\n"
     "    raise OSError('o')\n"
     "OSError: o\n"},
    {"Memory", "b = bytearray(10 ** 14)", "MemoryError", "",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 1, in <module>\n"
     "    b = bytearray(10 ** 14)\n"
     "        ^^^^^^^^^^^^^^^^^^^\n"
     "MemoryError\n"},
    {"StrThatFails",
     "class E(Exception):\n  def __str__(self): raise ValueError\nraise E", "E",
     "<E, whose str() failed>",
     "Traceback (most recent call last):\n"
     "  File \"<cell 1>\", line 3, in <module>\n"
     "    raise E\n"
     "E: <exception str() failed>\n"},
};

INSTANTIATE_TEST_SUITE_P(Python, Errors, ::testing::ValuesIn(kErrors),
                         [](const ::testing::TestParamInfo<Failing>& test) {
                           return std::string(test.param.name);
                         });

TEST(PythonCell, ATracebackIsBounded) {
  KernelProcess kernel;
  for (const char* code : {"def f(): f()\nf()",
                           "import sys\nsys.setrecursionlimit(50000)\n"
                           "def g(n): return h(n)\ndef h(n): return g(n)\ng(1)",
                           "raise ValueError('x' * 10 ** 7)"}) {
    const CellResult result = kernel.Run(code);
    EXPECT_EQ(result.status, "error") << code;
    EXPECT_LT(result.Error("traceback").size(), 300'000u) << code;
    EXPECT_LT(result.Error("value").size(), 100'000u) << code;
  }
}

TEST(PythonCell, LeavesWithAnExitCodeAndTheKernelLivesOn) {
  KernelProcess kernel;
  const struct {
    const char* code;
    int exit_code;
    const char* err;
  } cases[] = {{"exit()", 0, ""},
               {"quit(4)", 4, ""},
               {"import sys\nsys.exit(3)", 3, ""},
               {"raise SystemExit(-1)", 255, ""},
               {"raise SystemExit('words')", 1, "words\n"},
               {"import asyncio\nawait asyncio.sleep(0)\nexit(5)", 5, ""}};
  for (const auto& leaving : cases) {
    const CellResult result = kernel.Run(leaving.code);
    EXPECT_EQ(result.status, "exit") << leaving.code << result;
    EXPECT_EQ(result.exit_code, leaving.exit_code) << leaving.code;
    EXPECT_EQ(result.err, leaving.err) << leaving.code;
    EXPECT_THAT(result.events, IsEmpty()) << leaving.code;
  }
  EXPECT_EQ(kernel.Run("'still here'").Shown(), "'still here'\n");
}

TEST(PythonCell, ACellIsInterrupted) {
  KernelProcess kernel;
  kernel.Run("import asyncio, time\nx = 'kept'");
  for (const char* code :
       {"while True: pass", "time.sleep(600)", "await asyncio.sleep(600)",
        "import subprocess\nsubprocess.run(['sleep', '600'])",
        "class Slow:\n  def __repr__(self): time.sleep(600)\nSlow()",
        "class E(Exception):\n  def __str__(self): time.sleep(600)\nraise E",
        R"(class Out:
  def flush(self): time.sleep(600)
  def write(self, _): 0
import sys
sys.stdout = Out())"}) {
    kernel.InterruptLater(absl::Milliseconds(300));
    const CellResult result = kernel.Run(code);
    EXPECT_EQ(result.status, "interrupted") << code << result;
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_EQ(result.Error("name"), "KeyboardInterrupt");
  }
  EXPECT_EQ(kernel.Run("import sys\nsys.stdout = sys.__stdout__\nx").Shown(),
            "'kept'\n");
}

TEST(PythonCell, AnInterruptThatComesWithTheCellIsForIt) {
  KernelProcess kernel;
  kernel.Run("import time");
  for (int i = 0; i < 50; ++i) {
    const int id = kernel.Send("time.sleep(600)");
    kernel.Interrupt();
    const CellResult result = kernel.WaitForEnd(id);
    ASSERT_EQ(result.status, "interrupted") << i << result;
  }
}

TEST(PythonKernel, IsNotInterruptedBetweenCells) {
  KernelProcess kernel;
  kernel.Run("1");
  for (int i = 0; i < 20; ++i) {
    kernel.Interrupt();
    kernel.WaitUntilIdle();
    const CellResult result = kernel.Run("'alive'");
    ASSERT_EQ(result.Shown(), "'alive'\n") << result;
  }
}

TEST(PythonKernel, EndsWhenToldToOrWhenNobodyIsLeft) {
  KernelProcess told;
  told.Run("f = open('kept', 'w')\nf.write('unflushed')");
  told.SendLine(R"({"op":"quit"})");
  EXPECT_EQ(told.Wait(), 0);
  EXPECT_EQ(ReadFile(told.home() + "/kept"), "unflushed");
  KernelProcess left;
  left.Run("1");
  left.CloseCommands();
  EXPECT_EQ(left.Wait(), 0);
}

TEST(PythonKernel, TakesAnyDescriptor) {
  for (const int fd : {3, 9, 253, 900}) {
    KernelProcess kernel({.events_fd = fd});
    const CellResult result = kernel.Run(
        "import os\nopen('/dev/null').fileno() < 10, os.get_inheritable(0)");
    EXPECT_EQ(result.Shown(), "(True, True)\n") << fd << result;
  }
}

TEST(PythonKernel, OfAZygoteIsLikeAnyOther) {
  KernelProcess kernel({.zygote = "lean"});
  EXPECT_EQ(kernel.Run("sorted(globals())").Shown(),
            "['In', 'Out', '__builtins__', '__doc__', '__loader__', "
            "'__name__', '__package__', '__spec__']\n");
  EXPECT_EQ(kernel.Run("1 / 0").Error("traceback"),
            "Traceback (most recent call last):\n"
            "  File \"<cell 2>\", line 1, in <module>\n"
            "    1 / 0\n"
            "    ~~^~~\n"
            "ZeroDivisionError: division by zero\n");
  kernel.InterruptLater(absl::Milliseconds(200));
  EXPECT_EQ(kernel.Run("while True: pass").status, "interrupted");
  EXPECT_EQ(kernel.Run("vars(__builtins__).clear()").status, "ok");
  EXPECT_EQ(kernel.Run("import sys\nlen([1]), sys.argv").Shown(),
            "(1, ['main.py'])\n");
  const CellResult closed = kernel.Run("import os\nos.closerange(3, 999)");
  EXPECT_EQ(closed.status, "") << closed;
  EXPECT_EQ(kernel.Wait(), 70);
}

// numba looks for one by the name of the function's file; here a stand-in of
// it.
TEST(PythonKernel, FunctionsOfCellsHaveAPlaceForWhatNumbaCompiles) {
  KernelProcess kernel;
  ASSERT_EQ(kernel
                .Run(R"(
import os
os.makedirs('numba/core')
with open('numba/core/caching.py', 'w') as file: file.write("""
class IPythonCacheLocator:
  @classmethod
  def from_function(cls, function, file):
    return cls() if file.startswith('<ipython-') else None
class CacheImpl:
  _locator_classes = [IPythonCacheLocator]
""")
from numba.core import caching
def f(): pass
found = [kind.from_function(f, f.__code__.co_filename)
         for kind in caching.CacheImpl._locator_classes])")
                .status,
            "ok");
  EXPECT_EQ(kernel.Run("found[0], found[1].get_cache_path()").Shown(),
            "(None, '/tmp/numba_cache')\n");
}

TEST(PythonKernel, WhatACellExecutesHasNoneOfItsChannels) {
  KernelProcess kernel;
  const CellResult result = kernel.Run(
      "import subprocess\nprint(subprocess.run(['ls', '/proc/self/fd'], "
      "close_fds=False, capture_output=True, text=True).stdout.split())");
  EXPECT_EQ(result.out, "['0', '1', '2', '3']\n") << result;
}

}  // namespace
}  // namespace sandglass::testing
