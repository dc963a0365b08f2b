// Sessions that a model held with a notebook's kernel, by others; see
// tests/support/host/workloads.h.

#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernel_process.h"
#include "tests/support/host/workloads.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;

// With every change those of one session of four.
TEST(Sessions, EachCellAnswersAsItDidThen) {
  const std::string folder = WorkloadFolder();
  const bool has_sympy = MissingModules({"sympy"}).empty();
  if (folder.empty() || !has_sympy) {
    const std::string message =
        has_sympy ? "THE WORKLOADS ARE NOT THERE: set SANDGLASS_WORKLOADS to "
                    "their folder; not run: mathcoder_sessions"
                  : "NOT RUN: sympy is missing";
    ASSERT_FALSE(MustRun()) << message;
    GTEST_SKIP() << message;
  }
  std::ifstream file(absl::StrCat(folder, "/mathcoder_sessions.jsonl"));
  ASSERT_TRUE(file.good());
  int cells = 0;
  size_t index = 0;
  for (std::string line; std::getline(file, line);) {
    if (!IsOfThisTier(index++, 4)) continue;
    const Json session = Json::parse(line);
    KernelProcess kernel;
    for (const Json& cell : session["cells"]) {
      const CellResult result = kernel.Run(cell["code"].get<std::string>());
      const auto expected = cell["expected_output"].get<std::string>();
      EXPECT_EQ(absl::StripAsciiWhitespace(result.Whole()),
                absl::StripAsciiWhitespace(expected))
          << session["id"] << ":\n"
          << cell["code"].get<std::string>() << "\n"
          << result;
      ++cells;
    }
  }
  EXPECT_GT(cells, OnlyAPart() ? 40 : 200);
}

}  // namespace
}  // namespace sandglass::testing
