// What people do with a session: sales by month and their chart, statistics,
// models, sorting. They need Debian's scientific packages and a font with
// Chinese characters (deploy/install-deps.sh --test).

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/support/calls/files.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DataAnalysis : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (HasFatalFailure()) return;
    session_.emplace(client());
  }
  // Before it is looked whether anything is left.
  void TearDown() override {
    session_.reset();
    DaemonTest::TearDown();
  }
  RunResult Cell(const std::string& code) { return session_->Run(code); }
  static std::string PngOf(const v1::RunCodeResponse& response) {
    for (const v1::RichResult& result : response.results()) {
      for (const v1::MimeData& data : result.data()) {
        if (data.mime_type() == "image/png") return data.data();
      }
    }
    return "";
  }
  // A number of an image's header.
  static uint32_t HeaderNumber(const std::string& png, size_t at) {
    uint32_t number = 0;
    for (size_t i = at; i < at + 4 && i < png.size(); ++i) {
      number = number << 8 | static_cast<uint8_t>(png[i]);
    }
    return number;
  }

  std::optional<TestSession> session_;
};

// Two sales a day through the first three months of a year; with the day's
// number as the first and ten as the second amount.
std::string SalesCsv() {
  std::string csv = "date,product,amount\n";
  const int days[] = {31, 28, 31};
  for (int month = 1; month <= 3; ++month) {
    for (int day = 1; day <= days[month - 1]; ++day) {
      const std::string date =
          absl::StrCat("2023-0", month, "-", day < 10 ? "0" : "", day);
      absl::StrAppend(&csv, date, ",苹果,", day, "\n", date, ",梨,10\n");
    }
  }
  return csv;
}

constexpr char kChart[] = R"(
import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(8, 4), dpi=100)
ax.plot(monthly.index.astype(str), monthly.values, marker='o', label='销售额')
ax.set_title('月度销售趋势 売上の推移 매출 추이')
ax.set_xlabel('月份')
ax.legend()
plt.show()
)";

TEST_F(DataAnalysis, SalesByMonthAndTheirTrendAsAChart) {
  ASSERT_THAT(session_->status(), IsOk());
  TestFiles files(client(), session_->id());
  ASSERT_THAT(files.Write("sales.csv", SalesCsv()), IsOk());
  RunResult result = Cell(
      "import pandas as pd\n"
      "sales = pd.read_csv('sales.csv', parse_dates=['date'])\n"
      "monthly = sales.groupby(sales.date.dt.to_period('M')).amount.sum()\n"
      "monthly.to_dict()");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  // 31 * 32 / 2 + 31 * 10; 28 * 29 / 2 + 28 * 10.
  EXPECT_EQ(ValueOf(result.response),
            "{Period('2023-01', 'M'): 806, Period('2023-02', 'M'): 686, "
            "Period('2023-03', 'M'): 806}");
  result = Cell(kChart);
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(result.response.stderr().data(), IsEmpty());
  const std::string png = PngOf(result.response);
  ASSERT_TRUE(absl::StartsWith(png, "\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_GT(HeaderNumber(png, 16), 400u);
  EXPECT_GT(HeaderNumber(png, 20), 200u);
  EXPECT_GT(png.size(), 5000u);
  // It is a file as well, where the code saves one.
  ASSERT_THAT(Cell("fig.savefig('trend.png')"), OutcomeIs(v1::OUTCOME_OK));
  std::string saved;
  ASSERT_THAT(files.Read("trend.png", &saved), IsOk());
  EXPECT_EQ(HeaderNumber(saved, 16), 800u);
  EXPECT_EQ(HeaderNumber(saved, 20), 400u);
}

// A character that no font has is drawn as a box, the same for all.
constexpr char kPixels[] = R"(
import io
import matplotlib.pyplot as plt
def pixels(text):
    figure = plt.figure(figsize=(1, 1))
    figure.text(0.1, 0.5, text, fontsize=30)
    out = io.BytesIO()
    figure.savefig(out, format='rgba')
    plt.close(figure)
    return out.getvalue()
)";

TEST_F(DataAnalysis, EachChineseJapaneseOrKoreanCharacterLooksItsOwn) {
  const std::string count =
      "texts = ['月', '売', '한', 'の', '销']\n"
      "len({pixels(text) for text in texts})";
  RunResult result = Cell(absl::StrCat(kPixels, count));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "5");
  EXPECT_THAT(result.response.stderr().data(), IsEmpty());
  // Styles that choose a font don't take it away.
  result = Cell(absl::StrCat(
      "import seaborn as sns\nsns.set_theme()\nplt.style.use('ggplot')\n",
      count));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "5");
  EXPECT_THAT(result.response.stderr().data(),
              Not(HasSubstr("missing from current font")));
  // Runs that have no session draw them too.
  const RunResult alone = Run(Python(
      absl::StrCat(kPixels, "print(len({pixels(t) for t in '月売한の销'}))")));
  ASSERT_THAT(alone, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(alone.response.stdout().data(), "5\n");
  EXPECT_THAT(alone.response.stderr().data(), IsEmpty());
}

TEST_F(DataAnalysis, ScipyFindsMinimaAndTellsSamplesApart) {
  RunResult result = Cell(
      "from scipy import optimize, stats\n"
      "low = optimize.minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2, "
      "[0, 0])\n"
      "[round(float(v), 3) for v in low.x]");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "[3.0, -1.0]");
  result = Cell(
      "import numpy as np\n"
      "rng = np.random.default_rng(1)\n"
      "a, b = rng.normal(0, 1, 200), rng.normal(1, 1, 200)\n"
      "bool(stats.ttest_ind(a, b).pvalue < 1e-6), "
      "round(float(stats.norm.cdf(1.96)), 3)");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "(True, 0.975)");
}

TEST_F(DataAnalysis, ScikitLearnFitsAModelWithinTheDefaultLimits) {
  const RunResult result = Cell(
      "import numpy as np\n"
      "from sklearn.ensemble import RandomForestClassifier\n"
      "from sklearn.linear_model import LogisticRegression\n"
      "from sklearn.model_selection import cross_val_score, train_test_split\n"
      "rng = np.random.default_rng(0)\n"
      "X = np.vstack([rng.normal(c, 0.5, (50, 4)) for c in (0, 2, 4)])\n"
      "y = np.repeat([0, 1, 2], 50)\n"
      "train, test, want, truth = train_test_split(X, y, random_state=0)\n"
      "line = LogisticRegression(max_iter=500).fit(train, want)\n"
      "trees = RandomForestClassifier(random_state=0, n_jobs=-1)\n"
      "[bool(line.score(test, truth) > 0.95), "
      "bool(cross_val_score(trees, X, y).mean() > 0.95)]");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "[True, True]");
  EXPECT_THAT(result.response.stderr().data(), IsEmpty());
}

TEST_F(DataAnalysis, SeabornDrawsADataFrame) {
  const RunResult result = Cell(
      "import pandas as pd, seaborn as sns\n"
      "frame = pd.DataFrame({'x': range(20), 'y': [n * n for n in range(20)], "
      "'kind': list('ab') * 10})\n"
      "sns.set_theme()\n"
      "axes = sns.scatterplot(data=frame, x='x', y='y', hue='kind');");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(absl::StartsWith(PngOf(result.response), "\x89PNG"));
}

TEST_F(DataAnalysis, QuicksortMeasuresItsRunTime) {
  const RunResult result = Cell(
      "import random, time\n"
      "def quicksort(items):\n"
      "    if len(items) < 2:\n"
      "        return items\n"
      "    pivot = items[len(items) // 2]\n"
      "    return (quicksort([i for i in items if i < pivot])\n"
      "            + [i for i in items if i == pivot]\n"
      "            + quicksort([i for i in items if i > pivot]))\n"
      "numbers = [random.randrange(10**6) for _ in range(50_000)]\n"
      "start = time.perf_counter()\n"
      "ordered = quicksort(numbers)\n"
      "print(f'{time.perf_counter() - start:.6f}')\n"
      "ordered == sorted(numbers)");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "True");
  double seconds = 0;
  ASSERT_TRUE(absl::SimpleAtod(
      absl::StripSuffix(result.response.stdout().data(), "\n"), &seconds));
  EXPECT_GT(seconds, 0);
  // The daemon's own measure is of the whole cell.
  const auto& wall = result.response.usage().wall_time();
  EXPECT_GE(static_cast<double>(wall.seconds()) + wall.nanos() * 1e-9, seconds);
}

TEST_F(DataAnalysis, TwoToTheHundredIsExact) {
  const RunResult result = Cell("2**100");
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ValueOf(result.response), "1267650600228229401496703205376");
}

}  // namespace
}  // namespace sandglass::testing
