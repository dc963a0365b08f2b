#include "server/job/output_redaction.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/live_policy/policy_set.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMark[] = "[redacted:employee-id]";

std::shared_ptr<const policy::Redactor> EmployeeIds() {
  auto pattern = policy::RedactionPattern::Compile("EMP-[0-9]{6}");
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  auto redactor =
      policy::Redactor::Create({{"employee-id", *std::move(pattern)}});
  EXPECT_TRUE(redactor.ok()) << redactor.status();
  return *std::move(redactor);
}

TEST(OutputRedaction, WithoutARedactorItOnlyCounts) {
  OutputRedaction redaction(nullptr);
  EXPECT_EQ(redaction.Feed("EMP-123456"), "EMP-123456");
  EXPECT_EQ(redaction.Feed(""), "");
  EXPECT_EQ(redaction.Rest(), "");
  EXPECT_EQ(redaction.taken_bytes(), 10u);
  EXPECT_THAT(redaction.counts(), IsEmpty());
}

TEST(OutputRedaction, CountsWhatWasWrittenAndTellsTheRest) {
  OutputRedaction redaction(EmployeeIds());
  EXPECT_EQ(redaction.Feed("id EMP-1"), "id ");
  EXPECT_EQ(redaction.Feed("23456\n"), std::string(kMark) + "\n");
  EXPECT_EQ(redaction.Feed("EMP"), "");
  EXPECT_EQ(redaction.taken_bytes(), 17u);
  EXPECT_EQ(redaction.Rest(), "EMP");
  EXPECT_EQ(redaction.Rest(), "");
  EXPECT_THAT(redaction.counts(), ElementsAre(Pair("employee-id", 1)));
}

TEST(RedactRich, RedactsTextAndJsonAndLeavesImages) {
  const auto redactor = EmployeeIds();
  RichOutput output;
  for (const char* type :
       {"text/plain", "TEXT/HTML", "text/html; charset=utf-8",
        "application/json", "application/json;v=1", "image/svg+xml",
        "application/vnd.vega.v5+json", "image/png", "application/pdf",
        "application/octet-stream"}) {
    output.data.emplace_back(type, "x EMP-123456 y");
  }
  policy::RedactionCounts counts;
  RedactRich(redactor.get(), output, counts);
  for (size_t i = 0; i < output.data.size(); ++i) {
    EXPECT_EQ(output.data[i].second,
              i < 7 ? "x " + std::string(kMark) + " y" : "x EMP-123456 y")
        << output.data[i].first;
  }
  EXPECT_THAT(counts, ElementsAre(Pair("employee-id", 7)));
}

TEST(RedactError, RedactsAllParts) {
  const auto redactor = EmployeeIds();
  ErrorWords error = {"EMP-000000", "of EMP-000001", "EMP-000002\nEMP-000003"};
  policy::RedactionCounts counts;
  RedactError(redactor.get(), error, counts);
  EXPECT_EQ(error.name, kMark);
  EXPECT_EQ(error.value, "of " + std::string(kMark));
  EXPECT_EQ(error.traceback, std::string(kMark) + "\n" + kMark);
  EXPECT_THAT(counts, ElementsAre(Pair("employee-id", 4)));
  ErrorWords plain = {"EMP-000000", "", ""};
  RedactError(nullptr, plain, counts);
  EXPECT_EQ(plain.name, "EMP-000000");
}

TEST(RedactStream, HeadAndTailAreRedactedSeparately) {
  const auto redactor = EmployeeIds();
  // What is left out lies between the two halves.
  StreamResult cut = {.data = "EMP-123456 EMP-123456 EMP-654321",
                      .truncated = true,
                      .total_bytes = 1000,
                      .head_bytes = 16};
  policy::RedactionCounts counts;
  RedactStream(redactor.get(), cut, counts);
  EXPECT_EQ(cut.data, std::string(kMark) + " EMP-123456 " + kMark);
  EXPECT_EQ(cut.head_bytes, sizeof(kMark) - 1 + 6);
  EXPECT_EQ(cut.total_bytes, 1000u + 2 * (sizeof(kMark) - 1 - 10));
  EXPECT_TRUE(cut.truncated);
  EXPECT_THAT(counts, ElementsAre(Pair("employee-id", 2)));

  StreamResult whole = {
      .data = "EMP-123456", .total_bytes = 10, .head_bytes = 10};
  RedactStream(nullptr, whole, counts);
  EXPECT_EQ(whole.data, "EMP-123456");
  RedactStream(redactor.get(), whole, counts);
  EXPECT_EQ(whole.data, kMark);
  EXPECT_EQ(whole.head_bytes, whole.data.size());
  EXPECT_EQ(whole.total_bytes, whole.data.size());
}

TEST(PolicySet, NeedsThePatternsFileOnlyForProfilesThatNameSome) {
  const testing::TempDir directory;
  std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", directory.path(),
                        std::filesystem::copy_options::recursive);
  testing::WriteFile(
      directory.Path("profiles/redacting.json"),
      R"({"description": "d", "redaction": {"patterns": ["jwt"]}})");
  const auto set = PolicySet::Load(directory.path());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_NE(set->FindProfile("redacting")->redactor, nullptr);
  EXPECT_EQ(set->FindProfile("default")->redactor, nullptr);

  std::filesystem::remove(directory.Path("redaction.json"));
  EXPECT_FALSE(PolicySet::Load(directory.path()).ok());
  std::filesystem::remove(directory.Path("profiles/redacting.json"));
  EXPECT_TRUE(PolicySet::Load(directory.path()).ok());

  testing::WriteFile(directory.Path("redaction.json"), "{");
  EXPECT_FALSE(PolicySet::Load(directory.path()).ok());
}

}  // namespace
}  // namespace sandglass::server
