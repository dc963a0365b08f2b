// `sandglass status`, `top` and `usage` on the command line.
#include "client/operator/operator_command_line.h"

#include <string>
#include <utility>
#include <vector>

#include "client/cli/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

template <typename Options>
Options Parse(std::vector<std::string> arguments) {
  const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments));
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  const auto* command = std::get_if<OperatorOptions>(&parsed.command->command);
  EXPECT_NE(command, nullptr);
  const auto* options =
      command == nullptr ? nullptr : std::get_if<Options>(command);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? Options() : *options;
}

std::string Refused(std::vector<std::string> arguments) {
  const ParsedCommandLine parsed = ParseCommandLine(std::move(arguments));
  EXPECT_FALSE(parsed.command.has_value());
  EXPECT_EQ(parsed.exit_code, 125);
  return parsed.text;
}

std::string Help(const std::string& command) {
  const ParsedCommandLine parsed = ParseCommandLine({command, "--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  return parsed.text;
}

TEST(OperatorCommandLineTest, StatusIsForPeopleOrJson) {
  EXPECT_FALSE(Parse<StatusOptions>({"status"}).json);
  EXPECT_TRUE(Parse<StatusOptions>({"status", "--json"}).json);
  EXPECT_THAT(Help("status"), HasSubstr("it is not"));
}

TEST(OperatorCommandLineTest, TopLooksEverySecond) {
  EXPECT_EQ(Parse<TopOptions>({"top"}).interval, absl::Seconds(1));
  EXPECT_FALSE(Parse<TopOptions>({"top"}).once);
  const TopOptions options =
      Parse<TopOptions>({"top", "--interval", "500ms", "--once"});
  EXPECT_EQ(options.interval, absl::Milliseconds(500));
  EXPECT_TRUE(options.once);
  EXPECT_THAT(Refused({"top", "--interval", "10ms"}),
              HasSubstr("': write at least 100ms (see sandglass top "
                        "--help)"));
  EXPECT_THAT(Refused({"top", "--interval", "x"}), HasSubstr("is no time"));
}

TEST(OperatorCommandLineTest, UsageIsByCallerUnlessItIsByLanguage) {
  EXPECT_EQ(Parse<UsageOptions>({"usage"}).by, UsageBy::kCaller);
  const UsageOptions options = Parse<UsageOptions>(
      {"usage", "--by", "language", "--caller", "uid:7", "--json"});
  EXPECT_EQ(options.by, UsageBy::kLanguage);
  EXPECT_EQ(options.caller, "uid:7");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.audit, std::nullopt);
  EXPECT_THAT(Refused({"usage", "--by", "day\x1b"}),
              HasSubstr("'day\\x1b': write caller or language"));
}

TEST(OperatorCommandLineTest, OnlyAnAuditLogKnowsOtherTimes) {
  const UsageOptions options = Parse<UsageOptions>(
      {"usage", "--audit", "/a", "--since", "2025-01-31T00:00:00Z", "--until",
       "2025-02-01T00:00:00Z"});
  EXPECT_EQ(options.audit, "/a");
  EXPECT_EQ(options.until.value() - options.since.value(), absl::Hours(24));
  EXPECT_THAT(Refused({"usage", "--since", "2h"}), HasSubstr("need --audit"));
  EXPECT_THAT(Refused({"usage", "--audit", "/a", "--since", "x"}),
              HasSubstr("--since: 'x' is no time"));
}

TEST(OperatorCommandLineTest, TheHelpSaysWhatMemoryIs) {
  EXPECT_THAT(Help("usage"), HasSubstr("peak memory"));
}

}  // namespace
}  // namespace sandglass::client
