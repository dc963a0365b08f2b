#include "policy/rules/facts.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kBegin[] = "sandglass-facts 1\n";

std::string Said(const std::string& lines, const std::string& end = "end\n") {
  return absl::StrCat(kBegin, lines, end);
}

TEST(ParseFacts, TakesEachKind) {
  const auto facts =
      ParseFacts(Said("import\t0\t1\t1\t2\tos\t\n"
                      "import-unknown\t0\t2\t3\t1\t__import__\t\n"
                      "use\t1\t3\t1\t1\tos.system\t\n"
                      "open-write\t0\t4\t1\t1\topen\tw\n"
                      "endless-loop\t0\t5\t1\t1\twhile True\t\n"
                      "syntax-error\t0\t6\t9\t1\tinvalid syntax\t\n"),
                 2);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(
      *facts,
      ElementsAre(
          Fact{FactKind::kImport, 0, 1, 1, 2, "os", ""},
          Fact{FactKind::kImportUnknown, 0, 2, 3, 1, "__import__", ""},
          Fact{FactKind::kUse, 1, 3, 1, 1, "os.system", ""},
          Fact{FactKind::kOpenWrite, 0, 4, 1, 1, "open", "w"},
          Fact{FactKind::kEndlessLoop, 0, 5, 1, 1, "while True", ""},
          Fact{FactKind::kSyntaxError, 0, 6, 9, 1, "invalid syntax", ""}));
}

TEST(ParseFacts, TakesNoFacts) {
  const auto facts = ParseFacts(Said(""), 1);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(*facts, IsEmpty());
}

TEST(ParseFacts, RefusesAllThatIsNotJustSo) {
  const std::vector<std::string> wrong = {
      "",
      "\n",
      kBegin,
      "end\n",
      "sandglass-facts 1",
      "sandglass-facts 2\nend\n",
      "x\nsandglass-facts 1\nend\n",
      Said("", "end"),
      Said("", "end\n\n"),
      Said("", "end\nend\n"),
      Said("", "end\r\n"),
      Said("import\t0\t1\t1\t2\tos\t\n", ""),
      Said("\n"),
      Said("import\t0\t1\t1\t1\tos\n"),
      Said("import\t0\t1\t1\t1\tos\t\t\n"),
      Said("Import\t0\t1\t1\t1\tos\t\n"),
      Said("imports\t0\t1\t1\t1\tos\t\n"),
      Said("import\t1\t1\t1\t1\tos\t\n"),
      Said("import\t-1\t1\t1\t1\tos\t\n"),
      Said("import\t+0\t1\t1\t1\tos\t\n"),
      Said("import\t \t1\t1\t1\tos\t\n"),
      Said("import\t0\t0\t1\t1\tos\t\n"),
      Said("import\t0\t1\t0\t1\tos\t\n"),
      Said("import\t0\t1\t1\t0\tos\t\n"),
      Said("import\t0\t99999999999\t1\t1\tos\t\n"),
      Said("import\t0\t1\t1\t1\t\t\n"),
      Said("import\t0\t1\t1\t1\to\x01s\t\n"),
      Said("import\t0\t1\t1\t1\to\xffs\t\n"),
      Said("import\t0\t1\t1\t1\tos\t\x7f\n"),
      Said(absl::StrCat("import\t0\t1\t1\t1\t", std::string(201, 'a'), "\t\n")),
  };
  for (const std::string& text : wrong) {
    EXPECT_EQ(ParseFacts(text, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_FALSE(ParseFacts(Said("import\t0\t1\t1\t1\tos\t\n"), 0).ok());
}

TEST(ParseFacts, TellsTooMuchFromBroken) {
  const auto overflow = ParseFacts(Said("", "overflow\n"), 1);
  EXPECT_EQ(overflow.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(overflow.status().message()),
              HasSubstr("more than 4096"));
  std::string many;
  for (size_t i = 0; i < kMaxFacts; ++i) {
    absl::StrAppend(&many, "use\t0\t1\t1\t1\tn", i, "\t\n");
  }
  EXPECT_TRUE(ParseFacts(Said(many), 1).ok());
  absl::StrAppend(&many, "use\t0\t1\t1\t1\tone-more\t\n");
  EXPECT_EQ(ParseFacts(Said(many), 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  const std::string large(kMaxFactsBytes + 1, 'x');
  EXPECT_EQ(ParseFacts(large, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sandglass::policy
