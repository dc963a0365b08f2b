// What cells of Bash say and end with where a shell would end.

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"

namespace sandglass::testing {
namespace {

using ::testing::StartsWith;

TEST(BashKernel, SpeaksAsBashWhereSomethingIsWrong) {
  KernelProcess kernel({.language = "bash"});
  EXPECT_EQ(kernel.Run("echo a\n\nno_command").err,
            "bash: line 3: no_command: command not found\n");
  const CellResult broken = kernel.Run("echo a\nif then\necho b");
  EXPECT_EQ(broken.out, "a\n");
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, StartsWith("bash: eval: line 2: syntax error near"));
  EXPECT_EQ(kernel.Run("echo 'open").exit_code, 2);
  EXPECT_EQ(kernel.Run("set -x; echo hi; exit 1").err,
            "++ echo hi\n++ exit 1\n");
}

TEST(BashKernel, OptionsOfACellBeforeMoveNoLine) {
  KernelProcess kernel({.language = "bash"});
  kernel.Run("set -u; trap 'true' ERR");
  EXPECT_EQ(kernel.Run("\nno_command").err,
            "bash: line 2: no_command: command not found\n");
  EXPECT_EQ(kernel.Run("if ; then").exit_code, 2);
  EXPECT_EQ(kernel.Run("# text\n\necho $nope").err,
            "bash: line 3: nope: unbound variable\n");
}

TEST(BashKernel, ASignalThatWouldEndTheShellEndsTheCell) {
  KernelProcess kernel({.language = "bash"});
  kernel.Run("x=kept; f() { kill -s \"$1\" $$; }");
  for (const auto& [name, number] :
       std::vector<std::tuple<std::string, int>>{{"HUP", 1},
                                                 {"ABRT", 6},
                                                 {"SEGV", 11},
                                                 {"ALRM", 14},
                                                 {"TERM", 15},
                                                 {"SYS", 31}}) {
    for (const char* before : {"", "trap - ", "trap -- - SIG"}) {
      const std::string prepare =
          *before == 0 ? "" : absl::StrCat(before, name, "; ");
      const CellResult ended =
          kernel.Run(absl::StrCat(prepare, "echo $x; f ", name, "; echo rest"));
      EXPECT_EQ(ended.out, "kept\n") << ended;
      EXPECT_EQ(ended.err, absl::StrCat("bash: ended by SIG", name, "\n"));
      EXPECT_EQ(ended.exit_code, 128 + number);
    }
  }
  EXPECT_EQ(kernel.Run("trap 'echo mine' TERM; f TERM; echo on").out,
            "mine\non\n");
  EXPECT_EQ(kernel.Run("trap '' TERM; f TERM; echo on").out, "on\n");
  EXPECT_EQ(
      kernel.Run("(kill -TERM $BASHPID); sh -c 'kill -HUP $$'; echo $?").out,
      "129\n");
  // What bash itself is killed for when it writes too much.
  const CellResult large =
      kernel.Run("ulimit -f 1; printf %04096d 1 >large; echo rest");
  EXPECT_EQ(large.out, "");
  EXPECT_EQ(large.exit_code, 128 + 25) << large;
}

TEST(BashKernel, WhatACellSetsLeavesTheNextOneWorking) {
  for (const char* cell :
       {"set -r",
        "set -k",
        "set -t",
        "set -m",
        "set -TE",
        "set -o posix",
        "readonly IFS=$'\\n\\t'",
        "readonly word input status line",
        "enable -n printf kill [",
        "enable -n local read exec eval set trap",
        "builtin() { echo mine; }",
        "shopt -s extdebug",
        "trap 'echo dbg >>d' DEBUG",
        "trap 'exit 3' DEBUG",
        "trap 'echo err >>d' ERR; (exit 3)",

        "shopt -s expand_aliases; alias builtin=echo if=echo",
        "export LC_ALL=nonsense 2>/dev/null",
        "BASH_XTRACEFD=1; set -x; set +x",
        "exec >file 2>&-",
        "TMOUT=1; readonly TMOUT",
        "declare -x SHELLOPTS",
        "unset -f __sg_next trap 2>/dev/null"}) {
    SCOPED_TRACE(cell);
    KernelProcess kernel({.language = "bash"});
    kernel.Run("x=kept; f() { echo f; }; set -- a 'b c'");
    ASSERT_NE(kernel.Run(cell).status, "");
    if (std::string(cell).starts_with("TMOUT")) {
      absl::SleepFor(absl::Milliseconds(1200));
    }
    for (int i = 0; i < 2; ++i) {
      const CellResult next = kernel.Run("echo \"$x $2\"; f");
      ASSERT_EQ(next.out, "kept b c\nf\n") << next;
      EXPECT_EQ(next.err, "");
    }
  }
}

TEST(BashKernel, TrapsBetweenCommandsAreTheCellsAlone) {
  KernelProcess kernel({.language = "bash"});
  kernel.Run("f() { :; }; trap 'echo dbg' DEBUG; trap 'echo err' ERR");
  EXPECT_EQ(kernel.Run("f; (exit 3)").out, "dbg\ndbg\nerr\n");
  EXPECT_EQ(kernel.Run("echo on").out, "dbg\non\n");
  kernel.Run("trap - DEBUG ERR");
  EXPECT_EQ(kernel.Run("echo on; (exit 3)").out, "on\n");
}

TEST(BashKernel, EndsWhereNothingIsExecutedAnyMore) {
  for (const char* cell : {"set -n", "set -o noexec; echo no",
                           "shopt -s extdebug; trap false DEBUG",
                           "enable -n builtin", "readonly __sg_code; :"}) {
    SCOPED_TRACE(cell);
    KernelProcess kernel({.language = "bash"});
    const CellResult ended = kernel.Run(cell);
    if (ended.status == "ok") {
      EXPECT_EQ(kernel.Run("echo no").status, "");
    }
    EXPECT_NE(kernel.Wait(), -1);
  }
}

TEST(BashKernel, CellsHaveArgumentsUntilOthersCome) {
  KernelProcess kernel({.language = "bash"});
  EXPECT_EQ(kernel
                .Run("for a; do echo \"<$a>\"; done; echo no $?",
                     {{"args", {"a  b", "", "*", "c\nd\n"}}})
                .out,
            "<a  b>\n<>\n<*>\n<c\nd\n>\nno 0\n");
  EXPECT_EQ(kernel.Run("echo $#; exit 2").out, "4\n");
  EXPECT_EQ(kernel.Run("echo $1", {{"args", {"new"}}}).out, "new\n");
}

}  // namespace
}  // namespace sandglass::testing
