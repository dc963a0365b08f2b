// IPython's own syntax in cells of Python, with and without the package.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"
#include "tests/support/host/workloads.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class IPython : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!MissingModules({"IPython"}).empty()) {
      ASSERT_FALSE(MustRun()) << "IPython is missing";
      GTEST_SKIP() << "NOT RUN: python3-ipython is not installed";
    }
  }
  CellResult Run(const std::string& code) {
    CellResult result = kernel_.Run(code);
    EXPECT_EQ(result.status, "ok") << code << "\n" << result;
    return result;
  }
  KernelProcess kernel_;
};

TEST_F(IPython, CommandsWriteInOrder) {
  Run("x = 'var'");
  EXPECT_EQ(Run("print('a')\n!echo {x} $x\nprint('c')").out, "a\nvar var\nc\n");
  EXPECT_EQ(Run("y = !echo one; echo two\ny").Shown(), "['one', 'two']\n");
  EXPECT_EQ(Run("!exit 3\n_exit_code").Shown(), "3\n");
  EXPECT_EQ(Run("!echo bad >&2").err, "bad\n");
}

TEST_F(IPython, MagicsRun) {
  EXPECT_THAT(Run("%timeit -n1 -r1 1").out, HasSubstr("per loop"));
  const CellResult timed = Run("%%time\nz = 3\nz + 1");
  EXPECT_EQ(timed.Shown(), "4\n");
  EXPECT_THAT(timed.out, HasSubstr("Wall time"));
  EXPECT_EQ(Run("%%bash\necho from $0").out, "from bash\n");
  EXPECT_EQ(Run("import os\nos.mkdir('d')\n%cd -q d\n"
                "os.path.basename(os.getcwd())")
                .Shown(),
            "'d'\n");
  EXPECT_THAT(Run("%who").out, HasSubstr("z"));
  EXPECT_THAT(Run("%matplotlib inline").events, IsEmpty());
  EXPECT_EQ(Run("%%writefile f.txt\ncontent\n").out, "Writing f.txt\n");
  Run("%%capture seen\nprint('caught')\ndisplay(5)");
  EXPECT_EQ(Run("seen.stdout, len(seen.outputs)").Shown(),
            "('caught\\n', 1)\n");
  EXPECT_THAT(Run("def f(a):\n  'words'\n").events, IsEmpty());
  EXPECT_THAT(Run("f?").out, HasSubstr("words"));
  EXPECT_THAT(Run("f??").out, HasSubstr("def f(a)"));
}

TEST_F(IPython, FiguresAreShownWhicheverWayACellChooses) {
  if (!MissingModules({"matplotlib"}).empty()) {
    ASSERT_FALSE(MustRun());
    GTEST_SKIP() << "NOT RUN: matplotlib";
  }
  for (const char* way : {"notebook", "widget", "qt", "tk", "inline"}) {
    const CellResult shown = Run(absl::StrCat(
        "%matplotlib ", way,
        "\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"));
    ASSERT_THAT(shown.Events("display"), SizeIs(1)) << way << shown;
    EXPECT_TRUE(shown.Events("display")[0]["data"].contains("image/png"));
  }
}

TEST_F(IPython, DisplayFunctionsShowTheirValue) {
  const CellResult result =
      Run("from IPython.display import HTML, Markdown, display\n"
          "display(HTML('<b>'), Markdown('*m*'))");
  ASSERT_EQ(result.Events("display").size(), 2u) << result;
  EXPECT_EQ(result.Events("display")[0]["data"]["text/html"], "<b>");
  EXPECT_EQ(result.Events("display")[1]["data"]["text/markdown"], "*m*");
}

TEST_F(IPython, EarlierCellsAreInItsHistory) {
  Run("5");
  Run("import IPython");
  EXPECT_EQ(Run("_1, In[1], Out[1]").Shown(), "(5, '5', 5)\n");
  EXPECT_EQ(Run("get_ipython().user_ns is globals()").Shown(), "True\n");
  EXPECT_EQ(Run("list(range(25))").Shown().find('\n'), 90u);
}

TEST_F(IPython, ErrorsOfMagicsAreTheCells) {
  const CellResult unknown = kernel_.Run("%nothing_like_this");
  EXPECT_EQ(unknown.status, "error");
  EXPECT_EQ(unknown.Error("name"), "UsageError");
  EXPECT_THAT(unknown.Error("traceback"),
              MatchesRegex("UsageError: .*nothing_like_this.* not found.*\n"));
  const CellResult inside = kernel_.Run("%%time\n1 / 0");
  EXPECT_EQ(inside.status, "error") << inside;
  EXPECT_EQ(inside.Error("name"), "ZeroDivisionError") << inside;
  EXPECT_EQ(inside.err, "");
  EXPECT_EQ(kernel_.Run("exit(3)").exit_code, 3);
}

TEST_F(IPython, IPythonLeavesNoFiles) {
  // The working directory is HOME.
  Run("import os, tempfile\nos.mkdir('t')\ntempfile.tempdir = 't'");
  Run("%who");
  Run("%cd .");
  EXPECT_EQ(Run("sorted(os.listdir()), os.listdir('t')").Shown(),
            "(['t'], [])\n");
}

TEST(WithoutIPython, ItsSyntaxHasAClearError) {
  KernelProcess kernel({.hide_ipython = true});
  for (const char* code :
       {"%timeit 1", "!ls", "%%bash\nls", "len?", "x = 1\n%who"}) {
    const CellResult result = kernel.Run(code);
    EXPECT_EQ(result.Error("name"), "UsageError") << code << result;
    EXPECT_THAT(result.Error("value"), HasSubstr("python3-ipython")) << code;
  }
  for (const char* code : {"x = y!", "5 % % 3", "print 'a'", "a b"}) {
    EXPECT_EQ(kernel.Run(code).Error("name"), "SyntaxError") << code;
  }
  EXPECT_EQ(kernel.Run("import IPython").Error("name"), "ModuleNotFoundError");
  EXPECT_EQ(kernel.Run("x = 7\nx % 3").Shown(), "1\n");
}

}  // namespace
}  // namespace sandglass::testing
