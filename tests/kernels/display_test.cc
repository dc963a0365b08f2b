// What cells of Python show beside text: results with MIME types, figures.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"
#include "tests/support/host/workloads.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The data of all that was shown.
std::vector<Json> Data(const CellResult& result) {
  std::vector<Json> data;
  for (const Json& event : result.Events("display")) {
    data.push_back(event["data"]);
  }
  return data;
}

// Of the only thing shown; null when it isn't.
Json OnlyData(const CellResult& result) {
  const std::vector<Json> data = Data(result);
  EXPECT_THAT(data, SizeIs(1)) << result;
  return data.size() == 1 ? data[0] : Json();
}

bool IsPng(const Json& data) {
  std::string bytes;
  return data.contains("image/png") &&
         absl::Base64Unescape(data["image/png"].get<std::string>(), &bytes) &&
         absl::StartsWith(bytes, "\x89PNG\r\n") && bytes.size() > 1000;
}

// Both without IPython and with its formatters.
class Results : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !MissingModules({"IPython"}).empty()) {
      ASSERT_FALSE(MustRun()) << "IPython is missing";
      GTEST_SKIP() << "NOT RUN: python3-ipython is not installed";
    }
    kernel_.emplace(KernelOptions{.hide_ipython = !GetParam()});
    if (GetParam()) {
      EXPECT_EQ(kernel_->Run("import IPython").status, "ok");
    }
  }
  CellResult Run(const std::string& code, const Json& more = Json::object()) {
    CellResult result = kernel_->Run(code, more);
    EXPECT_EQ(result.status, "ok") << result;
    return result;
  }
  // False, said loudly, where a package is missing.
  static bool Has(const std::vector<std::string>& modules) {
    const std::vector<std::string> missing = MissingModules(modules);
    EXPECT_TRUE(missing.empty() || !MustRun()) << absl::StrJoin(missing, ", ");
    return missing.empty();
  }

  std::optional<KernelProcess> kernel_;
};

TEST_P(Results, WhatIsWrittenNextComesBehindADisplay) {
  const CellResult result =
      Run("import os, threading\nprint('a')\ndisplay(1)\nprint('b')\n"
          "display(2)\nprint('c')\n3");
  EXPECT_EQ(result.status, "ok") << result;
  EXPECT_EQ(result.before, (std::vector<std::string>{"a\n", "a\nb\n"}));
  EXPECT_THAT(result.Events("display"), SizeIs(3));
  // Others than the cell's own thread go on at once.
  const CellResult others =
      Run("thread = threading.Thread(target=lambda: display(4))\n"
          "thread.start()\nthread.join()");
  EXPECT_EQ(others.status, "ok") << others;
  EXPECT_THAT(others.before, IsEmpty());
  EXPECT_THAT(others.Events("display"), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Python, Results, ::testing::Bool(),
                         [](const auto& test) {
                           return std::string(test.param ? "WithIPython"
                                                         : "WithoutIPython");
                         });

TEST_P(Results, EachMethodGivesItsType) {
  const Json data = OnlyData(Run(R"py(
class Thing:
    def __repr__(self): return "thing"
    def _repr_html_(self): return "<b>h</b>"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"png"
    def _repr_jpeg_(self): return b"jpeg", {"width": 4}
    def _repr_pdf_(self): return b"pdf"
    def _repr_latex_(self): return "$x$"
    def _repr_markdown_(self): return "*m*"
    def _repr_json_(self): return {"a": [1, None, 2.5]}
    def _repr_javascript_(self): return "f()"
Thing())py"));
  EXPECT_EQ(data, Json::parse(R"py({
    "text/plain": "thing", "text/html": "<b>h</b>", "image/svg+xml": "<svg/>",
    "image/png": "cG5n", "image/jpeg": "anBlZw==", "application/pdf": "cGRm",
    "text/latex": "$x$", "text/markdown": "*m*",
    "application/json": {"a": [1, null, 2.5]},
    "application/javascript": "f()"})py"));
}

TEST_P(Results, ABundlePassesAsItIs) {
  const CellResult result = Run(R"py(
class Chart:
    def __repr__(self): return "chart"
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/vnd.vegalite.v5+json": {"mark": "bar"}}, {"x": 1}
Chart())py");
  EXPECT_EQ(OnlyData(result), Json::parse(R"py({
    "text/plain": "chart",
    "application/vnd.vegalite.v5+json": {"mark": "bar"}})py"));
  EXPECT_EQ(result.Events("display")[0]["metadata"], Json({{"x", 1}}));
  EXPECT_EQ(result.Events("display")[0]["kind"], "result");
}

TEST_P(Results, DisplayShowsEachAtOnce) {
  const CellResult result = Run("print('a')\ndisplay(1, 'b')\nprint('c')");
  EXPECT_EQ(result.Shown(), "1\n'b'\n");
  EXPECT_EQ(result.out, "a\nc\n");
  EXPECT_EQ(result.Events("display")[0]["kind"], "display");
  EXPECT_EQ(OnlyData(Run("display({'text/html': '<i>'}, raw=True)")),
            Json({{"text/html", "<i>"}}));
}

TEST_P(Results, OutputIsCleared) {
  const char* import =
      GetParam() ? "from IPython.display import clear_output\n" : "";
  const CellResult result =
      Run(absl::StrCat(import, "clear_output()\nclear_output(wait=True)"));
  ASSERT_THAT(result.Events("clear"), SizeIs(2)) << result;
  EXPECT_EQ(result.Events("clear")[0]["wait"], false);
  EXPECT_EQ(result.Events("clear")[1]["wait"], true);
}

TEST_P(Results, BrokenReprsBreakNoCell) {
  for (const char* body :
       {"  def __repr__(self): raise ValueError('no')",
        "  def __repr__(self): return 5",
        "  def __repr__(self): return repr(self)",
        "  def __repr__(self): raise SystemExit",
        "  def _repr_html_(self): raise TypeError",
        "  def _repr_html_(self): return 5",
        "  def _repr_html_(self): return [self]",
        "  def _repr_json_(self): return self",
        "  def _repr_json_(self):\n    x = []\n    x.append(x)\n    return x",
        "  def _repr_png_(self): return 5",
        "  def _repr_mimebundle_(self, **_): return 5",
        "  def _repr_mimebundle_(self, **_): return {5: 6, 'x': 'y'}",
        "  def _repr_mimebundle_(self): return {}",
        "  def _ipython_display_(self): raise ValueError",
        "  def __getattr__(self, name): raise ValueError(name)",
        "  def __getattr__(self, name): return lambda *a, **k: 5",
        "  _repr_html_ = 'text'"}) {
    const CellResult result =
        Run(absl::StrCat("class Broken:\n", body, "\nBroken()"));
    EXPECT_THAT(result.Events("error"), IsEmpty()) << body << result;
    const Json data = OnlyData(result);
    EXPECT_THAT(data.value("text/plain", ""), HasSubstr("Broken object at"))
        << body;
  }
}

TEST_P(Results, AClassHasNoReprOfItsObjects) {
  EXPECT_EQ(Run("class A:\n  def _repr_html_(self): return 'h'\nA").Shown(),
            "<class '__main__.A'>\n");
}

TEST_P(Results, AnObjectThatShowsItselfIsShownOnce) {
  EXPECT_EQ(Run("class A:\n  def _ipython_display_(self): display('own')\nA()")
                .Shown(),
            "'own'\n");
}

TEST_P(Results, JsonIsWhatEveryReaderTakes) {
  const Json data = OnlyData(
      Run("class A:\n  def _repr_json_(self):\n    return {'n': [float('nan'), "
          "float('inf'), 10 ** 400, 2 ** 63], 5: '\\ud800', 't': (True, "
          "{})}\nA()"));
  EXPECT_EQ(data["application/json"]["n"][0], nullptr);
  EXPECT_EQ(data["application/json"]["n"][1], nullptr);
  EXPECT_EQ(data["application/json"]["n"][3], 9223372036854775808u);
  EXPECT_EQ(data["application/json"]["5"], "\xEF\xBF\xBD");
  EXPECT_EQ(data["application/json"]["t"], Json::parse("[true, {}]"));
}

TEST_P(Results, ValuesAboveTheBoundsAreLeftOut) {
  const CellResult many =
      Run("for i in range(5): display(i)", {{"max_results", 2}});
  EXPECT_EQ(many.Shown(), "0\n1\n");
  ASSERT_THAT(many.Events("dropped"), SizeIs(1)) << many;
  EXPECT_EQ(many.Events("dropped")[0]["count"], 3);
  EXPECT_GT(many.Events("dropped")[0]["bytes"], 3);
  const CellResult large =
      Run("display('x' * 1000)\n'y'", {{"max_result_bytes", 100}});
  EXPECT_EQ(large.Shown(), "'y'\n");
  EXPECT_EQ(large.Events("dropped")[0]["count"], 1);
  // Of one with several types the small ones stay.
  const CellResult part =
      Run("class A:\n  def __repr__(self): return 'small'\n"
          "  def _repr_png_(self): return bytes(10000)\nA()",
          {{"max_result_bytes", 500}});
  EXPECT_EQ(OnlyData(part), Json({{"text/plain", "small"}}));
  EXPECT_EQ(part.Events("dropped")[0]["count"], 1);
  EXPECT_THAT(Run("'none before'").Events("dropped"), IsEmpty());
  EXPECT_THAT(Run("1", {{"max_results", 0}}).Events("display"), IsEmpty());
}

TEST_P(Results, FiguresAreShownOnceAndInOrder) {
  if (!Has({"matplotlib"})) GTEST_SKIP() << "NOT RUN: python3-matplotlib";
  const CellResult open =
      Run("import matplotlib.pyplot as plt\nfor title in 'ab':\n"
          "  plt.figure(figsize=(4, 3 if title == 'a' else 2))\n"
          "  plt.plot([1, 2]);\nplt.savefig('own.png')");
  EXPECT_EQ(open.Shown(),
            "<Figure size 400x300 with 1 Axes>\n"
            "<Figure size 400x200 with 1 Axes>\n");
  for (const Json& data : Data(open)) EXPECT_TRUE(IsPng(data)) << open;
  EXPECT_THAT(ReadFile(kernel_->home() + "/own.png"), HasSubstr("PNG"));
  EXPECT_EQ(Run("plt.get_fignums()").Shown(), "[]\n");
  const CellResult shown =
      Run("plt.plot([1, 2])\nplt.show()\nprint('after')\ndisplay('last')");
  ASSERT_THAT(Data(shown), SizeIs(2)) << shown;
  EXPECT_TRUE(IsPng(Data(shown)[0]));
  EXPECT_EQ(shown.err, "");
  const CellResult value = Run("figure, axes = plt.subplots()\nfigure");
  EXPECT_TRUE(IsPng(OnlyData(value)));
  EXPECT_EQ(value.Events("display")[0]["kind"], "result");
  // After an error, too; an empty one isn't.
  const CellResult failed =
      kernel_->Run("plt.figure()\nplt.figure()\nplt.plot([1])\n1 / 0");
  EXPECT_EQ(failed.status, "error");
  EXPECT_TRUE(IsPng(OnlyData(failed)));
  EXPECT_THAT(Run("plt.plot([1])", {{"rich", false}}).events, IsEmpty());
}

// pyplot was there before the kernel.
TEST(Figures, FiguresOfAWarmKernelAreShown) {
  if (!MissingModules({"matplotlib", "numpy", "pandas"}).empty()) {
    ASSERT_FALSE(MustRun());
    GTEST_SKIP() << "NOT RUN: matplotlib, numpy, pandas";
  }
  KernelProcess kernel({.zygote = "science"});
  const CellResult shown = kernel.Run(
      "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()");
  EXPECT_TRUE(IsPng(OnlyData(shown))) << shown;
  EXPECT_EQ(shown.err, "");
  EXPECT_TRUE(IsPng(OnlyData(kernel.Run("plt.plot([2, 1]);"))));
  EXPECT_EQ(kernel.Run("import numpy\nnumpy.arange(3)").Shown(),
            "array([0, 1, 2])\n");
}

TEST_P(Results, ImagesAndTablesAreShown) {
  if (!Has({"PIL", "pandas"})) GTEST_SKIP() << "NOT RUN: PIL, pandas";
  const Json image = OnlyData(
      Run("from PIL import Image\nimport os\nImage.frombytes('L', (64, 64), "
          "os.urandom(4096))"));
  EXPECT_TRUE(IsPng(image)) << image;
  const Json table =
      OnlyData(Run("import pandas\npandas.DataFrame({'a': [1, 2]})"));
  EXPECT_EQ(table["text/plain"], "   a\n0  1\n1  2");
  EXPECT_THAT(table.value("text/html", ""), HasSubstr("<table"));
  const Json wide = OnlyData(
      Run("pandas.DataFrame({f'a_long_name_{i}': [i] for i in range(20)})"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(wide.value("text/plain", ""),
                HasSubstr(absl::StrCat("a_long_name_", i, " ")));
  }
}

TEST_P(Results, FormulasOfSympyAreShown) {
  if (!Has({"sympy"})) GTEST_SKIP() << "NOT RUN: sympy";
  const Json data = OnlyData(Run("import sympy\nsympy.Symbol('x') ** 2 / 2"));
  EXPECT_EQ(data["text/plain"], "x**2/2");
  EXPECT_THAT(data.value("text/latex", ""), HasSubstr("frac{x^{2}}{2}"));
}

}  // namespace
}  // namespace sandglass::testing
