#include "client/audit/audit_command_line.h"

#include <string>
#include <utility>
#include <vector>

#include "client/base/exit_codes.h"
#include "client/cli/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Options>
Options Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "audit");
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  return std::get<Options>(std::get<AuditOptions>(parsed.command->command));
}

const std::string& Hash() {
  static const auto& hash = *new std::string(64, 'a');
  return hash;
}

TEST(AuditCommandLineTest, TakesAllOptions) {
  const auto verify =
      Parse<AuditVerifyOptions>({"verify", "a", "b", "--head", "7:" + Hash()});
  EXPECT_THAT(verify.paths, ElementsAre("a", "b"));
  EXPECT_EQ(verify.head, (policy::AuditHead{7, Hash()}));
  EXPECT_FALSE(Parse<AuditVerifyOptions>({"verify", "a"}).head.has_value());
  EXPECT_EQ(Parse<AuditHeadOptions>({"head", "dir"}).path, "dir");
  const auto show = Parse<AuditShowOptions>(
      {"show", "dir", "--since", "2025-01-31T08:00:00Z", "--until",
       "2025-02-01T08:00:00+01:00", "--caller", "uid:1", "--event", "run",
       "--outcome", "timeout", "--lang", "python", "--run", "run-1", "--last",
       "5", "--json"});
  EXPECT_THAT(show.paths, ElementsAre("dir"));
  EXPECT_EQ(show.since, absl::FromUnixSeconds(1'738'310'400));
  EXPECT_EQ(show.until, absl::FromUnixSeconds(1'738'393'200));
  EXPECT_EQ(show.caller, "uid:1");
  EXPECT_EQ(show.event, "run");
  EXPECT_EQ(show.outcome, "timeout");
  EXPECT_EQ(show.language, "python");
  EXPECT_EQ(show.run_id, "run-1");
  EXPECT_EQ(show.last, 5u);
  EXPECT_TRUE(show.json);
  const auto plain = Parse<AuditShowOptions>({"show", "dir"});
  EXPECT_FALSE(plain.since || plain.until || plain.last || plain.json);
}

TEST(AuditCommandLineTest, TimesAreDatesOrSpans) {
  const absl::Time now = absl::FromUnixSeconds(1'738'310'400);
  EXPECT_EQ(ParseAuditTime("2h", now).value(), now - absl::Hours(2));
  EXPECT_EQ(ParseAuditTime("2025-01-31T08:00:00.5Z", now).value(),
            now + absl::Milliseconds(500));
  const absl::TimeZone here = absl::LocalTimeZone();
  EXPECT_EQ(ParseAuditTime("2025-01-31", now).value(),
            absl::FromCivil(absl::CivilDay(2025, 1, 31), here));
  EXPECT_EQ(ParseAuditTime("2025-01-31 08:30", now).value(),
            absl::FromCivil(absl::CivilMinute(2025, 1, 31, 8, 30), here));
  EXPECT_EQ(ParseAuditTime("2025-01-31 08:30:07", now).value(),
            absl::FromCivil(absl::CivilSecond(2025, 1, 31, 8, 30, 7), here));
  for (const char* bad : {"", "yesterday", "2025-13-01", "2025-01-32", "-2h",
                          "800h", "2025-01-31T25:00:00Z", "\x1b[2J"}) {
    const auto time = ParseAuditTime(bad, now);
    EXPECT_FALSE(time.ok()) << bad;
    EXPECT_EQ(time.status().message().find('\x1b'), absl::string_view::npos);
  }
}

TEST(AuditCommandLineTest, RefusesWhatDoesNotFitWith2) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{}, "give a command of audit: verify, head or show"},
      {{"frob"}, "there is no command 'audit frob'"},
      {{"verify"}, "PATH"},
      {{"head"}, "PATH"},
      {{"head", "a", "b"}, "b"},
      {{"show"}, "PATH"},
      {{"verify", "a", "--head", "7"}, "write SEQ:HASH"},
      {{"verify", "a", "--head", "7:abc"}, "write SEQ:HASH"},
      {{"verify", "a", "--head"}, "--head"},
      {{"verify", "a", "--frob"}, "--frob"},
      {{"show", "a", "--since", "soon"}, "--since: 'soon' is no time"},
      {{"show", "a", "--until", "x"}, "--until: 'x'"},
      {{"show", "a", "--last", "0"}, "--last"},
      {{"show", "a", "--last", "-1"}, "--last"},
      {{"show", "a", "--last", "many"}, "--last"}};
  for (const auto& [arguments, text] : cases) {
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), "audit");
    const ParsedCommandLine parsed = ParseCommandLine(all);
    EXPECT_FALSE(parsed.command.has_value()) << text;
    EXPECT_EQ(parsed.exit_code, kExitAuditError) << parsed.text;
    EXPECT_THAT(parsed.text, AllOf(HasSubstr(text), HasSubstr("--help)")));
  }
}

TEST(AuditCommandLineTest, HelpSaysWhatItExitsWith) {
  const ParsedCommandLine help = ParseCommandLine({"audit", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.text, AllOf(HasSubstr("verify"), HasSubstr("head"),
                               HasSubstr("show"), HasSubstr("Exit codes")));
  const ParsedCommandLine show = ParseCommandLine({"audit", "show", "--help"});
  EXPECT_EQ(show.exit_code, 0);
  EXPECT_THAT(show.text, AllOf(HasSubstr("--since"), HasSubstr("--outcome")));
}

}  // namespace
}  // namespace sandglass::client
