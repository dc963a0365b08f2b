#include "client/session/session_command_line.h"

#include <string>
#include <utility>
#include <vector>

#include "client/base/exit_codes.h"
#include "client/cli/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <typename Options>
Options Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "session");
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  const auto& session = std::get<SessionOptions>(parsed.command->command);
  EXPECT_TRUE(std::holds_alternative<Options>(session));
  return std::get<Options>(session);
}

TEST(SessionCommandLineTest, TakesAllOptionsOfCreate) {
  const auto o = Parse<SessionCreateOptions>(
      {"create",     "python", "--profile",      "p",
       "--timeout",  "5s",     "--memory",       "1G",
       "--cpu-time", "2",      "--pids",         "9",
       "--env",      "A=1=2",  "--env",          "B={}",
       "--label",    "k=v",    "--idle-timeout", "30m",
       "--max-age",  "8h",     "--get",          "--json"});
  EXPECT_EQ(o.language, "python");
  EXPECT_EQ(o.profile, "p");
  EXPECT_EQ(o.limits.timeout, absl::Seconds(5));
  EXPECT_EQ(o.limits.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(o.limits.cpu_time, absl::Seconds(2));
  EXPECT_EQ(o.limits.max_processes, 9u);
  EXPECT_THAT(o.env, ElementsAre(Pair("A", "1=2"), Pair("B", "{}")));
  EXPECT_THAT(o.labels, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(o.idle_timeout, absl::Minutes(30));
  EXPECT_EQ(o.max_age, absl::Hours(8));
  EXPECT_TRUE(o.get);
  EXPECT_TRUE(o.json);
  EXPECT_EQ(Parse<SessionCreateOptions>({"create"}).language, "");
  EXPECT_EQ(Parse<SessionCreateOptions>({"create", "list"}).language, "list");
}

TEST(SessionCommandLineTest, TakesAllOptionsOfRun) {
  const RunOptions o =
      Parse<SessionRunOptions>(
          {"run", "ses-1", "plot.py", "--context", "b", "--stdin", "in",
           "--timeout", "5s", "--cpu-time", "2s", "--results", "out", "--label",
           "k=v", "--request-id", "i", "--no-stream", "-q"})
          .run;
  EXPECT_EQ(o.session_id, "ses-1");
  EXPECT_EQ(o.file, "plot.py");
  EXPECT_FALSE(o.code.has_value());
  EXPECT_EQ(o.context, "b");
  EXPECT_EQ(o.stdin_file, "in");
  EXPECT_EQ(o.limits.timeout, absl::Seconds(5));
  EXPECT_EQ(o.limits.cpu_time, absl::Seconds(2));
  EXPECT_EQ(o.results_dir, "out");
  EXPECT_THAT(o.labels, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(o.request_id, "i");
  EXPECT_FALSE(o.stream);
  EXPECT_TRUE(o.quiet);
  EXPECT_FALSE(o.json);
  const RunOptions code =
      Parse<SessionRunOptions>({"run", "ses-1", "-c", "[1,2]", "--json"}).run;
  EXPECT_EQ(code.code, "[1,2]");
  EXPECT_TRUE(code.json);
  EXPECT_TRUE(code.stream);
  // Names of commands are files here.
  EXPECT_EQ(Parse<SessionRunOptions>({"run", "x", "list"}).run.file, "list");
  EXPECT_EQ(Parse<SessionRunOptions>({"run", "x", "-"}).run.file, "-");
}

TEST(SessionCommandLineTest, TakesTheOtherCommands) {
  const auto list = Parse<SessionListOptions>(
      {"list", "--label", "a=b", "--state", "paused", "--json"});
  EXPECT_THAT(list.labels, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(list.state, "paused");
  EXPECT_TRUE(list.json);
  EXPECT_EQ(Parse<SessionInfoOptions>({"info", "x"}).session_id, "x");
  const auto interrupt =
      Parse<KernelVerbOptions>({"interrupt", "x", "--context", "c"});
  EXPECT_EQ(interrupt.verb, KernelVerb::kInterrupt);
  EXPECT_EQ(interrupt.session_id, "x");
  EXPECT_EQ(interrupt.context, "c");
  EXPECT_EQ(Parse<KernelVerbOptions>({"restart", "x"}).verb,
            KernelVerb::kRestart);
  EXPECT_EQ(Parse<SessionVerbOptions>({"pause", "x"}).verb,
            SessionVerb::kPause);
  EXPECT_EQ(Parse<SessionVerbOptions>({"resume", "x"}).verb,
            SessionVerb::kResume);
  EXPECT_EQ(Parse<SessionVerbOptions>({"resume", "x"}).session_id, "x");
}

TEST(SessionCommandLineTest, UpdateChangesOnlyWhatIsSaid) {
  const auto time =
      Parse<SessionUpdateOptions>({"update", "x", "--idle-timeout", "1h"});
  EXPECT_EQ(time.idle_timeout, absl::Hours(1));
  EXPECT_FALSE(time.max_age.has_value());
  EXPECT_FALSE(time.labels.has_value());
  const auto labels = Parse<SessionUpdateOptions>(
      {"update", "x", "--label", "a=b", "--max-age", "2h"});
  EXPECT_THAT(labels.labels.value(), ElementsAre(Pair("a", "b")));
  EXPECT_EQ(labels.max_age, absl::Hours(2));
  const auto none = Parse<SessionUpdateOptions>({"update", "x", "--no-labels"});
  EXPECT_THAT(none.labels.value(), ElementsAre());
}

TEST(SessionCommandLineTest, DeletesByIdsOrAll) {
  const auto ids = Parse<SessionDeleteOptions>({"rm", "a", "b", "c"});
  EXPECT_THAT(ids.session_ids, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(ids.all);
  const auto all =
      Parse<SessionDeleteOptions>({"rm", "--all", "--label", "a=b"});
  EXPECT_TRUE(all.all);
  EXPECT_THAT(all.labels, ElementsAre(Pair("a", "b")));
}

TEST(SessionCommandLineTest, RefusesWhatDoesNotFitWith125) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{},
       "give a command of session: create, list, info, run, exec, shell, "
       "ps, attach, stop, forward, link, put, get, ls, cat, interrupt, "
       "restart, pause, "
       "resume, fork, snapshot, restore, update or rm (see sandglass session "
       "--help)"},
      {{"frob"}, "frob"},
      {{"create", "py", "extra"}, "(see sandglass session create --help)"},
      {{"create", "--get"}, "--get needs a --label"},
      {{"create", "--env", "x"}, "--env 'x'"},
      {{"create", "--label", "=x"}, "--label '=x'"},
      {{"create", "--memory", "lots"}, "--memory: 'lots'"},
      {{"create", "--idle-timeout", "soon"}, "--idle-timeout: 'soon'"},
      {{"create", "--max-age", "0"}, "--max-age"},
      {{"list", "--state", "dead"},
       "--state 'dead': write active, paused or dormant"},
      {{"list", "--state", ""}, "write active, paused or dormant"},
      {{"list", "--label", "x"}, "--label 'x'"},
      {{"info"}, "ID"},
      {{"info", "a", "b"}, "(see sandglass session info --help)"},
      {{"run"}, "ID"},
      {{"run", "x"}, "give a FILE"},
      {{"run", "x", "a.py", "-c", "y"}, "exclude each other"},
      {{"run", "x", "a.py", "b"}, "(see sandglass session run --help)"},
      {{"run", "x", "-", "--stdin", "-"}, "standard input"},
      {{"run", "x", "a", "--timeout", "5x"}, "--timeout: '5x'"},
      {{"run", "x", "a", "--memory", "1G"}, "--memory"},
      {{"run", "x", "a", "--json", "--results", "d"}, "excludes --results"},
      {{"run", "x", "a", "--", "b"},
       "-- has a meaning for run, session exec and session shell only"},
      {{"pause"}, "ID"},
      {{"interrupt", "x", "--context"}, "--context"},
      {{"update", "x"}, "say what to change"},
      {{"update", "x", "--label", "a=b", "--no-labels"}, "exclude each other"},
      {{"rm"}, "give the ID of a session, or --all"},
      {{"rm", "x", "--all"}, "exclude each other"},
      {{"rm", "x", "--label", "a=b"}, "--label chooses among --all"}};
  for (const auto& [arguments, expected] : cases) {
    std::vector<std::string> line = arguments;
    line.insert(line.begin(), "session");
    const ParsedCommandLine parsed = ParseCommandLine(line);
    const std::string all = ::testing::PrintToString(arguments);
    EXPECT_FALSE(parsed.command.has_value()) << all;
    EXPECT_EQ(parsed.exit_code, kExitError) << all;
    EXPECT_THAT(parsed.text, HasSubstr(expected)) << all;
    EXPECT_EQ(parsed.text.find('\n'), parsed.text.size() - 1) << all;
  }
}

TEST(SessionCommandLineTest, EachCommandHasHelp) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"create", "--idle-timeout"},
      {"list", "--state"},
      {"info", "--json"},
      {"run", "124      TIMEOUT"},
      {"interrupt", "--context"},
      {"restart", "--context"},
      {"pause", "ID"},
      {"resume", "ID"},
      {"update", "--no-labels"},
      {"rm", "--all"}};
  const ParsedCommandLine whole = ParseCommandLine({"session", "--help"});
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_THAT(whole.text, HasSubstr("id=$(sandglass session create python)"));
  for (const auto& [command, option] : cases) {
    EXPECT_THAT(whole.text, HasSubstr(command));
    const ParsedCommandLine parsed =
        ParseCommandLine({"session", command, "--help"});
    EXPECT_EQ(parsed.exit_code, 0);
    EXPECT_THAT(parsed.text, HasSubstr(option)) << command;
  }
}

TEST(SessionCommandLineTest, TakesTheAddressAnywhere) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--address", "unix:/f", "session", "list"},
        std::vector<std::string>{"session", "list", "--address", "unix:/f"},
        std::vector<std::string>{"session", "rm", "a", "--address",
                                 "unix:/f"}}) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    ASSERT_TRUE(parsed.command.has_value()) << parsed.text;
    EXPECT_EQ(parsed.command->endpoint.address, "unix:/f");
  }
}

}  // namespace
}  // namespace sandglass::client
