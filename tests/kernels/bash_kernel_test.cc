// What cells of Bash say and end with where a shell would end.

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
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

}  // namespace
}  // namespace sandglass::testing
