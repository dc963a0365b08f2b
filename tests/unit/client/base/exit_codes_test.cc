#include "client/base/exit_codes.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {

using testing::ReadFile;
namespace {

// The rows of docs/verdicts.md below the mark "table: exit-codes".
std::map<std::string, std::string> DocumentedCodes() {
  std::map<std::string, std::string> codes;
  const std::string text = ReadFile(SANDGLASS_VERDICTS_DOC);
  bool in_table = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, "table: exit-codes")) {
      in_table = true;
      continue;
    }
    if (!in_table) continue;
    if (!absl::StartsWith(line, "|")) break;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4 || absl::StrContains(cells[1], "---")) continue;
    codes[std::string(absl::StripAsciiWhitespace(cells[1]))] =
        std::string(absl::StripAsciiWhitespace(cells[2]));
  }
  return codes;
}

TEST(ExitCodesTest, AreThoseOfTheDocumentedTable) {
  std::map<std::string, std::string> documented = DocumentedCodes();
  ASSERT_FALSE(documented.empty()) << SANDGLASS_VERDICTS_DOC;
  for (const OutcomeExit& row : OutcomeExits()) {
    const std::string name = OutcomeName(row.outcome);
    ASSERT_EQ(documented.count(name), 1u) << name;
    std::string expected = std::to_string(row.code);
    if (row.code == kExitProgramCode) expected = "the program's";
    if (row.code == kExitProgramSignal) expected = "128 + signal";
    EXPECT_EQ(documented[name], expected) << name;
    documented.erase(name);
  }
  EXPECT_EQ(documented["outcome"], "exit code");
  documented.erase("outcome");
  // What is left are the rows about the client itself.
  const std::vector<std::pair<std::string, std::string>> own = {
      {"a signal to `sandglass` itself", "128 + its number"},
      {"no answer", std::to_string(kExitError)},
      {"the program of a `session exec` can't be run",
       std::to_string(kExitNotExecutable)},
      {"the program of a `session exec` isn't there",
       std::to_string(kExitNotFound)},
      {"the reader of standard output went away", "141"}};
  ASSERT_EQ(documented.size(), own.size());
  auto row = documented.begin();
  for (const auto& [start, code] : own) {
    EXPECT_TRUE(absl::StartsWith(row->first, start)) << row->first;
    EXPECT_EQ(row->second, code);
    ++row;
  }
}

TEST(ExitCodesTest, CoverEveryOutcomeOfTheApi) {
  std::set<int> covered;
  for (const OutcomeExit& row : OutcomeExits()) covered.insert(row.outcome);
  for (int i = v1::Outcome_MIN; i <= v1::Outcome_MAX; ++i) {
    if (i == v1::OUTCOME_UNSPECIFIED || !v1::Outcome_IsValid(i)) continue;
    EXPECT_EQ(covered.count(i), 1u) << v1::Outcome_Name(i);
  }
}

TEST(ExitCodesTest, PassTheProgramsOwnCodeOn) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_NONZERO_EXIT);
  for (const int code : {1, 3, 124, 137, 255}) {
    response.set_exit_code(code);
    EXPECT_EQ(ExitCodeFor(response), code);
  }
}

TEST(ExitCodesTest, Add128ToASignal) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_SIGNALED);
  response.mutable_signal()->set_number(11);
  EXPECT_EQ(ExitCodeFor(response), 139);
}

TEST(ExitCodesTest, NeverCallABrokenAnswerASuccess) {
  EXPECT_EQ(ExitCodeFor(v1::RunCodeResponse()), kExitError);
  EXPECT_EQ(ExitCodeFor(ResponseWith(v1::OUTCOME_NONZERO_EXIT)), kExitError);
  EXPECT_EQ(ExitCodeFor(ResponseWith(v1::OUTCOME_SIGNALED)), kExitError);
  EXPECT_EQ(ExitCodeFor(ResponseWith(static_cast<v1::Outcome>(99))),
            kExitError);
  EXPECT_EQ(OutcomeName(static_cast<v1::Outcome>(99)), "OUTCOME_99");
}

TEST(ExitCodesTest, AreInTheHelp) {
  const std::string help = ExitCodeHelp();
  for (const char* row : {"124      TIMEOUT", "137      MEMORY_LIMIT",
                          "128 + n  SIGNALED", "125      usage"}) {
    EXPECT_TRUE(absl::StrContains(help, row)) << row;
  }
}

}  // namespace
}  // namespace sandglass::client
