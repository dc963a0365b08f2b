// What callers used: the table, and the sums over an audit log's lines.
#include <string>

#include "absl/strings/str_cat.h"
#include "client/base/units.h"
#include "client/operator/usage_audit.h"
#include "client/operator/usage_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using OrderedJson = nlohmann::ordered_json;

v1::UsageTotal TotalOf(const std::string& caller, const std::string& language,
                       uint64_t runs) {
  v1::UsageTotal total;
  total.set_caller(caller);
  total.set_language(language);
  total.set_runs(runs);
  total.mutable_cpu_time()->set_seconds(static_cast<int64_t>(runs) * 2);
  total.mutable_wall_time()->set_seconds(static_cast<int64_t>(runs) * 5);
  total.set_memory_byte_seconds(static_cast<double>(uint64_t{1} << 29));
  total.set_network_bytes(1024);
  total.set_refused(1);
  return total;
}

v1::GetUsageResponse Usage() {
  v1::GetUsageResponse usage;
  *usage.add_totals() = TotalOf("uid:0", "bash", 1);
  *usage.add_totals() = TotalOf("uid:1000", "bash", 20);
  *usage.add_totals() = TotalOf("uid:1000", "python", 300);
  usage.mutable_since()->set_seconds(1'738'281'600);
  usage.mutable_until()->set_seconds(1'738'285'200);
  return usage;
}

TEST(UsageTextTest, HasALineForEachCallerAndASum) {
  const std::string text = UsageText(Usage(), UsageBy::kCaller);
  EXPECT_THAT(
      text,
      HasSubstr("CALLER    RUNS  COMMANDS   CPU S  GIB S   WALL S  NETWORK  "
                "REFUSED\n"
                "uid:0        1         0    2.00  0.500     5.00    1 KiB  "
                "      1\n"
                "uid:1000   320         0  640.00  1.000  1600.00    2 KiB  "
                "      2\n"
                "(all)      321         0  642.00  1.500  1605.00    3 KiB  "
                "      3\n"));
  EXPECT_THAT(text, HasSubstr("from "));
}

TEST(UsageTextTest, HasALineForEachLanguage) {
  const std::string text = UsageText(Usage(), UsageBy::kLanguage);
  EXPECT_THAT(text, HasSubstr("LANGUAGE  RUNS"));
  EXPECT_THAT(text, HasSubstr("bash        21"));
  EXPECT_THAT(text, HasSubstr("python     300"));
}

TEST(UsageTextTest, ASingleLineHasNoSum) {
  v1::GetUsageResponse usage;
  *usage.add_totals() = TotalOf("uid:0", "", 1);
  EXPECT_THAT(UsageText(usage, UsageBy::kCaller), Not(HasSubstr("(all)")));
  EXPECT_THAT(UsageText(usage, UsageBy::kLanguage), HasSubstr("\n-  "));
  EXPECT_THAT(UsageText(v1::GetUsageResponse(), UsageBy::kCaller),
              HasSubstr("CALLER"));
}

TEST(UsageTextTest, ExplainsTheLineOfTheOthers) {
  v1::GetUsageResponse usage = Usage();
  usage.set_others(true);
  EXPECT_THAT(UsageText(usage, UsageBy::kCaller),
              HasSubstr("\"others\" are callers"));
}

TEST(UsageTextTest, ShowsNoControlCharacters) {
  v1::GetUsageResponse usage;
  *usage.add_totals() = TotalOf("a\x1b[2J", "b\n", 1);
  EXPECT_THAT(UsageText(usage, UsageBy::kCaller), HasSubstr("a\\x1b[2J"));
  EXPECT_THAT(UsageText(usage, UsageBy::kLanguage), HasSubstr("b\\x0a"));
}

class UsageOfLinesTest : public ::testing::Test {
 protected:
  // A line an hour after the one before, the first at 00:00 on 2025-01-31.
  void Take(const std::string& event, const OrderedJson& fields) {
    const std::string body = policy::AuditBody(event, fields).value();
    std::string line = policy::MakeAuditLine(
        body, absl::FromUnixSeconds(1'738'281'600) + absl::Hours(head_.seq),
        head_);
    line.pop_back();
    sums_.Add(line, policy::ReadAuditLine(line).value());
  }

  static OrderedJson RunOf(const std::string& caller,
                           const std::string& language,
                           const std::string& outcome) {
    return {{"caller", caller},
            {"lang", language},
            {"outcome", outcome},
            {"usage",
             {{"wall_us", 10'000'000},
              {"cpu_us", 4'000'000},
              {"peak_memory_bytes", 512 << 20}}}};
  }

  UsageOptions options_;
  UsageOfLines sums_{options_};
  policy::AuditHead head_;
};

TEST_F(UsageOfLinesTest, AddsUpRunsAndCommands) {
  Take("start", {{"version", "0.1.0"}});
  Take("run", RunOf("uid:1", "python", "OK"));
  Take("run", RunOf("uid:1", "python", "TIMEOUT"));
  OrderedJson command = RunOf("uid:1", "python", "OK");
  command["network"] = {{"sent_bytes", 100}, {"received_bytes", 23}};
  Take("exec", command);
  Take("run", RunOf("uid:2", "bash", "OK"));
  const v1::GetUsageResponse usage = sums_.Finish();
  ASSERT_THAT(usage.totals(), SizeIs(2));
  const v1::UsageTotal& total = usage.totals(0);
  EXPECT_EQ(total.caller(), "uid:1");
  EXPECT_EQ(total.language(), "python");
  EXPECT_EQ(total.runs(), 2u);
  EXPECT_EQ(total.commands(), 1u);
  EXPECT_EQ(total.refused(), 0u);
  EXPECT_EQ(total.wall_time().seconds(), 30);
  EXPECT_EQ(total.cpu_time().seconds(), 12);
  EXPECT_DOUBLE_EQ(total.memory_byte_seconds(), 15.0 * (1 << 30));
  EXPECT_EQ(total.network_bytes(), 123u);
  EXPECT_EQ(usage.totals(1).caller(), "uid:2");
  EXPECT_EQ(usage.since().seconds(), 1'738'281'600);
  EXPECT_EQ(usage.until().seconds(), 1'738'281'600 + 4 * 3600);
}

TEST_F(UsageOfLinesTest, WhatDidNotStartIsRefused) {
  Take("run", RunOf("uid:1", "python", "DENIED"));
  Take("run", RunOf("uid:1", "python", "NEEDS_APPROVAL"));
  Take("run", {{"caller", "uid:1"},
               {"lang", "python"},
               {"error", "RESOURCE_EXHAUSTED"}});
  Take("exec", {{"caller", "uid:1"}, {"error", "PERMISSION_DENIED"}});
  const v1::GetUsageResponse usage = sums_.Finish();
  // A command of a session without a language has none.
  ASSERT_THAT(usage.totals(), SizeIs(2));
  EXPECT_EQ(usage.totals(0).language(), "");
  EXPECT_EQ(usage.totals(0).refused(), 1u);
  EXPECT_EQ(usage.totals(1).refused(), 3u);
  EXPECT_EQ(usage.totals(1).runs(), 0u);
  EXPECT_EQ(usage.totals(1).wall_time().seconds(), 0);
}

TEST_F(UsageOfLinesTest, ACompilerCountsToo) {
  OrderedJson run = RunOf("uid:1", "cpp", "OK");
  run["compile_usage"] = {{"wall_us", 2'000'000},
                          {"cpu_us", 1'000'000},
                          {"peak_memory_bytes", 1 << 30}};
  Take("run", run);
  const v1::UsageTotal total = sums_.Finish().totals(0);
  EXPECT_EQ(total.runs(), 1u);
  EXPECT_EQ(total.cpu_time().seconds(), 5);
  EXPECT_DOUBLE_EQ(total.memory_byte_seconds(), 7.0 * (1 << 30));
}

TEST_F(UsageOfLinesTest, CountsOnlyTheWantedTimesAndCaller) {
  const absl::Time first = absl::FromUnixSeconds(1'738'281'600);
  options_.since = first + absl::Hours(1);
  options_.until = first + absl::Hours(3);
  options_.caller = "uid:1";
  Take("run", RunOf("uid:1", "python", "OK"));
  Take("run", RunOf("uid:1", "python", "OK"));
  Take("run", RunOf("uid:2", "python", "OK"));
  Take("run", RunOf("uid:1", "python", "OK"));
  const v1::GetUsageResponse usage = sums_.Finish();
  ASSERT_THAT(usage.totals(), SizeIs(1));
  EXPECT_EQ(usage.totals(0).runs(), 1u);
  EXPECT_EQ(usage.since().seconds(), 1'738'281'600 + 3600);
  EXPECT_EQ(usage.until().seconds(), 1'738'281'600 + 3 * 3600);
}

TEST_F(UsageOfLinesTest, MalformedLinesAreCountedAsUnreadable) {
  Take("run", OrderedJson::object());
  Take("run", {{"caller", 5}, {"lang", nullptr}, {"outcome", "OK"}});
  Take("run", {{"outcome", "OK"}, {"usage", "much"}, {"network", 7}});
  Take("run", {{"outcome", "OK"},
               {"usage",
                {{"wall_us", 18'446'744'073'709'551'615u},
                 {"cpu_us", -1},
                 {"peak_memory_bytes", 18'446'744'073'709'551'615u}}}});
  const std::string bad =
      "{\"seq\":5,\"time\":\"2025-01-31T08:00:00.000000Z\",\"prev\":\"" +
      std::string(64, '0') + "\",\"event\":\"run\",\"x\":,\"hash\":\"" +
      std::string(64, '0') + "\"}";
  if (const auto parts = policy::ReadAuditLine(bad)) sums_.Add(bad, *parts);
  EXPECT_EQ(sums_.unreadable(), 1u);
  const v1::GetUsageResponse usage = sums_.Finish();
  ASSERT_THAT(usage.totals(), SizeIs(1));
  EXPECT_EQ(usage.totals(0).runs(), 3u);
  EXPECT_EQ(usage.totals(0).refused(), 1u);
  EXPECT_EQ(usage.totals(0).cpu_time().seconds(), 0);
  EXPECT_THAT(UsageText(usage, UsageBy::kCaller), HasSubstr("\n-  "));
}

}  // namespace
}  // namespace sandglass::client
