// What cells of bash, JavaScript and Ruby do and what is kept for the next.

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Cells of one kernel, and what the last of them wrote and showed.
struct Cells {
  const char* language;
  const char* name;
  std::vector<const char*> cells;
  const char* expected;
  int exit_code = 0;  // of those before the last, too
};

std::ostream& operator<<(std::ostream& os, const Cells& cells) {
  return os << cells.language << " " << cells.name;
}

class OtherKernels : public ::testing::TestWithParam<Cells> {};

TEST_P(OtherKernels, TheLastCellShowsIt) {
  KernelProcess kernel({.language = GetParam().language});
  CellResult last;
  for (const char* cell : GetParam().cells) {
    last = kernel.Run(cell);
    ASSERT_NE(last.status, "") << cell << "\n" << last;
  }
  EXPECT_EQ(last.Whole(), GetParam().expected) << last;
  EXPECT_EQ(last.exit_code, GetParam().exit_code) << last;
  EXPECT_EQ(last.count, static_cast<int>(GetParam().cells.size()));
}

const Cells kKept[] = {
    {"bash",
     "Arrays",
     {"a=(1 'b c'); declare -A m=([k]=v)", "echo \"${a[1]} ${m[k]}\""},
     "b c v\n"},
    {"bash",
     "Aliases",
     {"shopt -s expand_aliases\nalias hi='echo hello'", "hi"},
     "hello\n"},
    {"bash", "ExitCodeOfTheLastCommand", {"(exit 5)"}, "", 5},
    {"bash", "LastExitCode", {"false", "echo $?"}, "1\n"},
    {"bash",
     "StateAfterAnExit",
     {"x=1; f() { echo \"f $x $1\"; }; a=(1 '2 3'); export e=5; set -- p 'q r'",
      "x=2; cd /tmp; exit 3",
      "f \"${a[1]}\"; sh -c 'echo $e'; pwd; echo \"$2\""},
     "f 2 2 3\n5\n/tmp\nq r\n"},
    {"bash",
     "StateAfterAnErrorUnderE",
     {"set -euo pipefail; y=9; false; echo no", "echo $y"},
     "9\n"},
    {"bash",
     "ReadonlyAndTrapsAfterAnExit",
     {"readonly r=1; trap 'echo usr' USR1; exit 1", "echo $r; kill -USR1 $$"},
     "1\nusr\n"},
    {"bash", "AnUnsetVariableUnderU", {"set -u; echo $nope"}, "", 1},
    {"bash", "BreakEndsTheCellAlone", {"z=1; break", "echo $z"}, "1\n"},
    {"bash", "ContinueEndsTheCellAlone", {"z=1; continue", "echo $z"}, "1\n"},
    {"bash",
     "ExitTrapsAreCalledAtAnExit",
     {"trap 'echo bye $?' EXIT; echo on; exit 0"},
     "on\nbye 0\n"},
    {"bash",
     "AnExitTrapDoesNotCostTheState",
     {"v=kept; trap 'true' EXIT; exit 2", "echo $v"},
     "kept\n"},
    {"bash", "ASubshellsExitIsItsOwn", {"(exit 3); echo $?"}, "3\n"},
    {"bash",
     "RedefinedBuiltins",
     {"read() { echo bad; }; printf() { echo bad; }; exec() { :; }; unset -f "
      "exec; IFS=,",
      "echo fine"},
     "fine\n"},
    {"bash", "ClosedStreams", {"exec 0<&- 1>&- 2>&-", "echo back"}, "back\n"},
    {"bash",
     "StreamsGoneElsewhere",
     {"exec >/dev/null", "echo back"},
     "back\n"},
    {"bash", "AnOpenFileStays", {"exec 5<<<text", "cat <&5"}, "text\n"},
    {"bash",
     "BackgroundJobs",
     {"sleep 60 &", "kill $!; wait $!; echo $?"},
     "143\n"},
    {"bash",
     "LowDescriptorsAreTheCells",
     {"for i in 3 4 5 6 7 8 9; do eval \"exec $i>&-\"; done; echo junk 2>&1 "
      ">&3",
      "echo fine"},
     "fine\n"},
    {"bash",
     "ADirectoryThatIsGone",
     {"cd $(mktemp -d); rmdir $PWD; exit 1", "cd /; pwd"},
     "/\n"},
    {"bash", "Traced", {"set -x", "echo on"}, "on\n"},
    {"bash",
     "ACellIsTheMainFile",
     {"f() { echo $1 ${FUNCNAME[1]}; }; [[ \"${BASH_SOURCE[0]}\" == \"$0\" ]] "
      "&& f \"$0\"; cd \"$(dirname \"$0\")\"; [[ $PWD == $HOME ]] && echo "
      "here"},
     "bash main\nhere\n"},
    {"bash",
     "ArgumentsAfterASignal",
     {"set -- a 'b c'; kill -TERM $$", "echo \"$2\""},
     "b c\n"},
    {"bash",
     "ArgumentsAfterAFunctionsExit",
     {"set -- a 'b c'", "f() { exit 1; }; f x y", "echo \"$2\""},
     "b c\n"},
    {"bash",
     "OnlyTheCellsTraps",
     {"trap 'echo\n1' USR1; trap - TERM", "trap -p USR1 TERM HUP EXIT"},
     "trap -- 'echo\n1' SIGUSR1\n"},
    {"bash",
     "NoUnicodeMeans",
     {"x='\xE2\x82\xAC'", "echo ${#x} $x"},
     "1 \xE2\x82\xAC\n"},
    {"javascript",
     "ConstantsMayBeDeclaredAgain",
     {"const x = 5; let y = 6; class A { m() { return 1; } }",
      "const x = 7; let y; class A { m() { return 2; } }",
      "[x, y, new A().m()]"},
     "[ 7, undefined, 2 ]\n"},
    {"javascript",
     "Functions",
     {"function f(n) { return n + 1; }", "f(1)"},
     "2\n"},
    {"javascript",
     "Destructured",
     {"const {a, b: [c, ...d], ...e} = {a: 1, b: [2, 3], f: 4}",
      "[a, c, d, e]"},
     "[ 1, 2, [ 3 ], { f: 4 } ]\n"},
    {"javascript",
     "DeclaredBesideAwait",
     {"const {a} = await Promise.resolve({a: 1}); function f() { return a; } "
      "class C {}",
      "[f(), typeof C]"},
     "[ 1, 'function' ]\n"},
    {"javascript", "AwaitedValue", {"await Promise.resolve(9)"}, "9\n"},
    {"javascript", "APromisesValue", {"Promise.resolve(9)"}, "9\n"},
    {"javascript",
     "ForAwait",
     {"for await (const n of [1, 2]) console.log(n)"},
     "1\n2\n"},
    {"javascript",
     "ACellIsTheMainFile",
     {"[require.main === module, process.argv[1] === __filename, __filename "
      "=== __dirname + '/main.js', __dirname === process.cwd()]"},
     "[ true, true, true, true ]\n"},
    {"javascript",
     "ACellsImportMeta",
     {"import {fileURLToPath} from 'url'\nconst {dirname, resolve} = "
      "import.meta",
      "[fileURLToPath(import.meta.url) === process.argv[1], dirname === "
      "__dirname, resolve('fs')]"},
     "[ true, true, 'node:fs' ]\n"},
    {"javascript",
     "AReturnEndsTheCell",
     {"#!/usr/bin/env node\nconst r = 1; if (r) return; console.log('no')",
      "r"},
     "1\n"},
    {"javascript",
     "Require",
     {"const fs = require('fs')", "typeof fs.readSync"},
     "'function'\n"},
    {"javascript",
     "NamesOfGlobals",
     {"const crypto = require('crypto'); crypto.createHash('md5')"
      ".update('a').digest('hex')"},
     "'0cc175b9c0f1b6a831c399e269772661'\n"},
    {"javascript",
     "Imports",
     {"import os, {EOL as end} from 'os'\nimport * as path from 'node:path'",
      "[end, os.EOL, path.join('a', 'b')]"},
     "[ '\\n', '\\n', 'a/b' ]\n"},
    {"javascript",
     "ImportOfTheDirectory",
     {"require('fs').writeFileSync('m.mjs', 'export const v = 5')",
      "(await import('./m.mjs')).v"},
     "5\n"},
    {"javascript", "AnObjectIsNoBlock", {"{a: 1}"}, "{ a: 1 }\n"},
    {"javascript", "UndefinedIsNotShown", {"undefined"}, ""},
    {"javascript", "TextIsQuoted", {"'\xE2\x82\xAC'"}, "'\xE2\x82\xAC'\n"},
    {"javascript",
     "TimersGoOn",
     {"var go, done, wait = setInterval(() => { if (go) { console.log('late'); "
      "clearInterval(wait); done() } }, 1); 0",
      "await new Promise((resolve) => { done = resolve; go = true })"},
     "late\n"},
    {"javascript",
     "AnExitCantBeCaught",
     {"let k = 1; try { process.exit(3); } catch { k = 2; } finally { k = 3; }",
      "k"},
     "1\n"},
    {"javascript",
     "AnExitBehindAwait",
     {"let w = 1; await w; process.exit(3)", "w"},
     "1\n"},
    {"javascript",
     "OutputThatWasEnded",
     {"console.log('a'); process.stdout.end()", "console.log('back')"},
     "back\n"},
    {"javascript",
     "ClosedStreams",
     {"for (const fd of [0, 1, 2]) require('fs').closeSync(fd)",
      "require('fs').closeSync(1); require('fs').openSync('o', 'w')",
      "console.log('back'); require('child_process').execSync('echo child', "
      "{stdio: 'inherit'})"},
     "back\nchild\nnull\n"},
    {"javascript",
     "AnExitCodeThatIsSet",
     {"process.exitCode = 6; 1"},
     "1\n",
     6},
    {"javascript", "OfThePackagesParserThatFails", {"let = 5; let"}, "5\n"},
    {"ruby", "Locals", {"x = 6", "x * 7"}, "42\n"},
    {"ruby", "Methods", {"def f(n) = n + 1", "f(1)"}, "2\n"},
    {"ruby", "Constants", {"A = 3\nclass P; def z = A; end", "P.new.z"}, "3\n"},
    {"ruby", "NilIsNotShown", {"nil"}, ""},
    {"ruby", "OutputThenResult", {"puts 'a'; 'b'"}, "a\n\"b\"\n"},
    {"ruby", "LastResult", {"5", "_ + 1"}, "6\n"},
    {"ruby", "OnlyTheCellsNames", {"local_variables - [:_]"}, "[]\n"},
    {"ruby",
     "ACellIsTheMainFile",
     {"[__FILE__ == $0, $PROGRAM_NAME == __FILE__, File.expand_path(__dir__) "
      "== Dir.pwd]"},
     "[true, true, true]\n"},
    {"ruby",
     "DataIsWhatFollowsTheEnd",
     {"DATA = 1", "[DATA.gets, DATA.pos]\n__END__\n\u00e4\nb\n"},
     "[\"\u00e4\\n\", 33]\n"},
    {"ruby",
     "DataIsWithinTheWholeCell",
     {"nil\n__END__\nb", "DATA.rewind; DATA.readlines"},
     "[\"nil\\n\", \"__END__\\n\", \"b\"]\n"},
    {"ruby",
     "StreamsGoneElsewhere",
     {"$stdout.reopen('o'); $stderr.reopen('e'); puts 'in it'",
      "puts 'back', File.read('o')"},
     "back\nin it\n"},
    {"ruby",
     "ClosedStreams",
     {"$stdout.close; $stderr.close", "puts 'back'"},
     "back\n"},
    {"ruby", "StateAfterAnExit", {"q = 1; exit 3", "q"}, "1\n"},
    {"ruby",
     "AForkedChildsEndIsItsOwn",
     {"pid = fork\nFile.write('c', '') unless pid",
      "Process.wait; [$?.exitstatus, File.exist?('c')]"},
     "[0, true]\n"},
    {"ruby",
     "Threads",
     {"q = Queue.new; t = Thread.new { q.pop; puts 'late' }; nil",
      "q << 1; t.join; nil"},
     "late\n"},
    {"ruby", "NoText", {"\"\\xff\""}, "\"\\xFF\"\n"},
};

std::string NameOf(const ::testing::TestParamInfo<Cells>& cells) {
  return absl::StrCat(cells.param.language, cells.param.name);
}

INSTANTIATE_TEST_SUITE_P(All, OtherKernels, ::testing::ValuesIn(kKept), NameOf);

struct Failing {
  const char* language;
  const char* code;
  const char* error;
  const char* value;
  const char* traceback;
};

TEST(OtherKernelErrors, AreToldByTheirParts) {
  for (const Failing& failing : std::vector<Failing>{
           {"javascript", "\nthrow new TypeError('bad')", "TypeError", "bad",
            "TypeError: bad\n    at <cell-1>:2:7\n"},
           {"javascript", "await nope", "ReferenceError", "nope is not defined",
            "    at <cell-1>:1:"},
           {"javascript", "let q = ;", "SyntaxError", "Unexpected token ';'",
            "<cell-1>:1\nlet q = ;\n"},
           {"javascript", "throw {a: 1}", "object", "{ a: 1 }", "Uncaught"},
           {"javascript", "Promise.reject(new Error('later')); 1", "Error",
            "later", "at <cell-1>:1:16"},
           {"javascript",
            "setTimeout(() => { throw new Error('timer'); }, 1);\n"
            "await new Promise(() => {})",
            "Error", "timer", "at Timeout."},
           {"javascript", "(function r() { r(); })()", "RangeError",
            "Maximum call stack size exceeded", "at r (<cell-1>:1:"},
           {"ruby", "def f = raise(ArgumentError, 'bad')\nf", "ArgumentError",
            "bad", "<cell 1>:1:in `f': bad (ArgumentError)\n\tfrom <cell 1>:2"},
           {"ruby", "begin; 1 / 0; rescue; raise TypeError, 't'; end",
            "TypeError", "t", "divided by 0 (ZeroDivisionError)"},
           {"ruby", "x = = 2", "SyntaxError", "<cell 1>:1: syntax error",
            "(SyntaxError)"}}) {
    SCOPED_TRACE(failing.code);
    KernelProcess kernel({.language = failing.language});
    const CellResult result = kernel.Run(failing.code);
    EXPECT_EQ(result.status, "error") << result;
    EXPECT_EQ(result.exit_code, 1);
    ASSERT_THAT(result.Events("error"), SizeIs(1)) << result;
    EXPECT_EQ(result.Error("name"), failing.error);
    EXPECT_THAT(result.Error("value"), StartsWith(failing.value));
    EXPECT_THAT(result.Error("traceback"), HasSubstr(failing.traceback));
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(kernel.Run("3").Shown(), "3\n");
  }
}

TEST(OtherKernelInput, IsTheCellsAndOnlyIts) {
  struct Reading {
    const char* language;
    const char* one;   // reads a line of several
    const char* all;   // writes all
    const char* none;  // says that there is none
  };
  for (const Reading& reading : std::vector<Reading>{
           {"bash", "read l; echo \"$l\"", "cat", "read x || echo none"},
           {"javascript",
            "const lines = require('readline').createInterface({input: "
            "process.stdin});\nfor await (const line of lines) { "
            "console.log(line); break; }",
            "process.stdout.write(require('fs').readFileSync(0))",
            "require('fs').readFileSync(0).length || console.log('none')"},
           {"ruby", "puts gets", "print STDIN.read",
            "puts 'none' if gets.nil?"}}) {
    SCOPED_TRACE(reading.language);
    KernelProcess kernel({.language = reading.language});
    const std::string many = "one\n" + std::string(300'000, 'x');
    EXPECT_EQ(
        kernel.Run(reading.one, {{"stdin", absl::Base64Escape(many)}}).out,
        "one\n");
    EXPECT_EQ(kernel.Run(reading.none).out, "none\n");
    const std::string bytes("a\0\xff\n", 4);
    EXPECT_EQ(
        kernel.Run(reading.all, {{"stdin", absl::Base64Escape(bytes)}}).out,
        bytes);
    EXPECT_EQ(kernel.Run(reading.none).out, "none\n");
  }
}

TEST(OtherKernelInterrupts, EndTheCellAndKeepTheState) {
  struct Loops {
    const char* language;
    const char* set;
    std::vector<const char*> loops;
    const char* get;
  };
  for (const Loops& loops : std::vector<Loops>{
           {"bash",
            "x=kept",
            {"while :; do :; done", "sleep 600", "v=$(sleep 600)",
             "f() { sleep 600; }; f | cat"},
            "echo $x"},
           {"javascript",
            "let x = 'kept'",
            {"for (;;);",
             "await new Promise((resolve) => setTimeout(resolve, 1e9))",
             "for (;;) { try { for (;;); } catch {} }",
             "require('child_process').spawnSync('sleep', ['600']); for (;;);"},
            "console.log(x)"},
           {"ruby",
            "x = 'kept'",
            {"loop {}", "sleep 600", "system('sleep 600')"},
            "puts x"}}) {
    KernelProcess kernel({.language = loops.language});
    kernel.Run(loops.set);
    for (const char* loop : loops.loops) {
      SCOPED_TRACE(loop);
      kernel.InterruptLater(absl::Milliseconds(300));
      EXPECT_EQ(kernel.Run(loop).exit_code, 130);
      EXPECT_EQ(kernel.Run(loops.get).out, "kept\n");
    }
    // Between cells it is nobody's.
    for (int i = 0; i < 5; ++i) {
      kernel.Interrupt();
      kernel.WaitUntilIdle();
      EXPECT_EQ(kernel.Run(loops.get).out, "kept\n");
    }
  }
}

TEST(OtherKernelsValues, AreShownInOtherTypesToo) {
  KernelProcess ruby({.language = "ruby"});
  ruby.Run("class H; def to_html = '<b>'; def inspect = 'H'; end");
  CellResult result = ruby.Run("H.new");
  ASSERT_THAT(result.Events("display"), SizeIs(1)) << result;
  EXPECT_EQ(result.Events("display")[0]["data"]["text/html"], "<b>");
  EXPECT_EQ(result.Shown(), "H\n");

  KernelProcess node({.language = "javascript"});
  result = node.Run(
      "console.log('before'); display({[Symbol.for('Jupyter.display')]() { "
      "return {'text/plain': 'd', 'image/png': Buffer.from('x')}; }}); "
      "console.log('after')");
  ASSERT_THAT(result.Events("display"), SizeIs(1)) << result;
  EXPECT_EQ(result.Events("display")[0]["data"]["image/png"], "eA==");
  EXPECT_THAT(result.before, ::testing::ElementsAre("before\n"));
  EXPECT_EQ(result.out, "before\nafter\n");
}

TEST(OtherKernelsValues, ThatAreTooLargeOrBrokenAreLeftOut) {
  for (const auto& [language, large, broken] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"javascript",
            "({[Symbol.for('nodejs.util.inspect.custom')]() { "
            "return 'x'.repeat(9e6); }})",
            "new Proxy({}, {get() { throw new Error('p'); }})"},
           {"ruby", "'x' * 9_000_000",
            "Class.new { def inspect = raise('no') }.new"}}) {
    SCOPED_TRACE(language);
    KernelProcess kernel({.language = language});
    CellResult result = kernel.Run(large);
    EXPECT_THAT(result.Events("dropped"), SizeIs(1));
    EXPECT_THAT(result.Shown(), IsEmpty());
    result = kernel.Run(broken);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("can't be shown"));
  }
}

TEST(OtherKernelsEnds, AKernelsEndIsReported) {
  for (const auto& [language, code, exit_code] :
       std::vector<std::tuple<const char*, const char*, int>>{
           {"bash", "kill -9 $$", 137},
           {"bash", "exec sh -c 'exit 6'", 6},
           {"javascript", "process.kill(process.pid, 'SIGKILL')", 137},
           {"javascript", "process.reallyExit(6)", 6},
           {"ruby", "exit! 6", 6}}) {
    SCOPED_TRACE(code);
    KernelProcess kernel({.language = language});
    EXPECT_EQ(kernel.Run(code).status, "");
    EXPECT_EQ(kernel.Wait(), exit_code);
  }
  for (const char* language : {"bash", "javascript", "ruby"}) {
    KernelProcess kernel({.language = language});
    kernel.Run("1");
    kernel.CloseCommands();
    EXPECT_EQ(kernel.Wait(), 0) << language;
  }
}

TEST(OtherKernelsCode, MayBeLong) {
  const std::string filler(1 << 20, 'x');
  EXPECT_EQ(KernelProcess({.language = "bash"})
                .Run(absl::StrCat("#", filler, "\necho on"))
                .out,
            "on\n");
  EXPECT_EQ(KernelProcess({.language = "javascript"})
                .Run(absl::StrCat("//", filler, "\n'on'"))
                .Shown(),
            "'on'\n");
  EXPECT_EQ(KernelProcess({.language = "ruby"})
                .Run(absl::StrCat("#", filler, "\n'on'"))
                .Shown(),
            "\"on\"\n");
}

}  // namespace
}  // namespace sandglass::testing
