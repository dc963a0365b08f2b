#include "client/cli/command_line.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/base/exit_codes.h"
#include "client/connection/address.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

RunOptions ParseRun(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  EXPECT_TRUE(parsed.command.has_value()) << parsed.text;
  if (!parsed.command) return {};
  EXPECT_TRUE(std::holds_alternative<RunOptions>(parsed.command->command));
  return std::get<RunOptions>(parsed.command->command);
}

TEST(CommandLineTest, TakesAllOptionsOfRun) {
  const RunOptions o = ParseRun({"a.py",
                                 "--lang",
                                 "py",
                                 "--stdin",
                                 "-",
                                 "--arg",
                                 "one",
                                 "--arg",
                                 "-x",
                                 "--env",
                                 "A=1=2",
                                 "--env",
                                 "B=",
                                 "--file",
                                 "in/data.csv",
                                 "--file",
                                 "x/y=/etc/hosts",
                                 "--fetch",
                                 "*.png",
                                 "--fetch",
                                 "b",
                                 "--fetch-dir",
                                 "out",
                                 "--timeout",
                                 "5s",
                                 "--memory",
                                 "256M",
                                 "--cpu-time",
                                 "2",
                                 "--pids",
                                 "9",
                                 "--profile",
                                 "p",
                                 "--label",
                                 "k=v",
                                 "--request-id",
                                 "id-1",
                                 "--no-stream",
                                 "--quiet",
                                 "--",
                                 "two",
                                 "--json",
                                 "--"});
  EXPECT_EQ(o.file, "a.py");
  EXPECT_FALSE(o.code.has_value());
  EXPECT_EQ(o.language, "py");
  EXPECT_EQ(o.stdin_file, "-");
  EXPECT_THAT(o.args, ElementsAre("one", "-x", "two", "--json", "--"));
  EXPECT_THAT(o.env, ElementsAre(Pair("A", "1=2"), Pair("B", "")));
  EXPECT_THAT(o.files, ElementsAre(Pair("data.csv", "in/data.csv"),
                                   Pair("x/y", "/etc/hosts")));
  EXPECT_THAT(o.fetch, ElementsAre("*.png", "b"));
  EXPECT_EQ(o.fetch_dir, "out");
  EXPECT_EQ(o.limits.timeout, absl::Seconds(5));
  EXPECT_EQ(o.limits.cpu_time, absl::Seconds(2));
  EXPECT_EQ(o.limits.memory_bytes, uint64_t{256} << 20);
  EXPECT_EQ(o.limits.max_processes, 9u);
  EXPECT_EQ(o.profile, "p");
  EXPECT_THAT(o.labels, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(o.request_id, "id-1");
  EXPECT_FALSE(o.stream);
  EXPECT_TRUE(o.quiet);
  EXPECT_FALSE(o.json);
  EXPECT_EQ(o.repeat, 0u);
}

TEST(CommandLineTest, TakesValuesAsTheyAre) {
  const RunOptions o = ParseRun({"-c", "{}", "--arg", "{}", "--arg", "[a,b]",
                                 "--arg", "", "--arg", "a,b", "--arg=--"});
  EXPECT_EQ(o.code, "{}");
  EXPECT_THAT(o.args, ElementsAre("{}", "[a,b]", "", "a,b", "--"));
  EXPECT_EQ(ParseRun({"-c", ""}).code, "");
  EXPECT_EQ(ParseRun({"-c", "-1"}).code, "-1");
  EXPECT_EQ(ParseRun({"-"}).file, "-");
  EXPECT_EQ(ParseRun({"ps"}).file, "ps");
}

TEST(CommandLineTest, RefusesWhatDoesNotFitWith125) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{}, "give a command"},
      {{"frob"}, "frob"},
      {{"ps", "frob"}, "unexpected 'frob' (see sandglass ps --help)"},
      {{"run", "a", "--repeat"}, "(see sandglass run --help)"},
      {{"run", "a", "--pids", "x"}, "(see sandglass run --help)"},
      {{"run"}, "give a FILE"},
      {{"run", "a.py", "b.py", "c"},
       "unexpected 'b.py'; program arguments go after --: sandglass run FILE "
       "-- b.py c (see sandglass run --help)"},
      {{"run", "a.py", "-c", "x"}, "exclude each other"},
      {{"run", "-", "--stdin", "-"}, "standard input"},
      {{"run", "a", "--bogus"}, "--bogus"},
      {{"run", "a", "--timeout"}, "--timeout"},
      {{"run", "a", "--timeout", "5x"}, "--timeout: '5x'"},
      {{"run", "a", "--cpu-time", "0"}, "--cpu-time"},
      {{"run", "a", "--memory", "lots"}, "--memory: 'lots'"},
      {{"run", "a", "--pids", "0"}, "--pids"},
      {{"run", "a", "--pids", "4294967296"}, "--pids"},
      {{"run", "a", "--repeat", "-1"}, "--repeat"},
      {{"run", "a", "--json-summary"}, "needs --repeat"},
      {{"run", "a", "--repeat", "2", "--json"}, "excludes --json"},
      {{"run", "a", "--repeat", "2", "--fetch", "x"}, "excludes --fetch"},
      {{"run", "a", "--repeat", "2", "--request-id", "x"}, "--request-id"},
      {{"run", "a", "--env", "NOEQUALS"}, "--env 'NOEQUALS'"},
      {{"run", "a", "--env", "=x"}, "--env '=x'"},
      {{"run", "a", "--label", "\x1b[2J"}, "--label '\\x1b[2J'"},
      {{"run", "a", "--file", "x="}, "--file 'x='"},
      {{"run", "a", "--file", "dir/"}, "--file 'dir/'"},
      {{"info", "x"}, "x"},
      {{"ps", "--label", "x"}, "--label 'x'"},
      {{"kill"}, "RUN_ID"},
      {{"sesion", "list"},
       "there is no command 'sesion'; did you mean 'session'? (see sandglass "
       "--help)"},
      {{"rum", "--bogus"}, "there is no command 'rum'; did you mean 'run'?"},
      {{"xyz"}, "there is no command 'xyz' (see"},
      {{"session", "frob", "x"}, "there is no command 'session frob' (see"},
      {{"session", "crate"}, "did you mean 'session create'?"},
      {{"policy", "chek"},
       "there is no command 'policy chek'; did you mean 'policy check'? (see "
       "sandglass policy --help)"},
      {{"layers", "lst"}, "there is no command 'layers lst'"},
      {{"help", "rum"}, "there is no command 'rum'; did you mean 'run'?"},
      {{"rum", "--help"}, "there is no command 'rum'; did you mean 'run'?"},
      {{"help", "session", "crate"}, "did you mean 'session create'?"},
      {{"--frob"}, "there is no option '--frob' (see sandglass --help)"},
      {{"--addr", "unix:/x", "info"},
       "there is no option '--addr'; did you mean '--address'? (see sandglass "
       "info --help)"},
      {{"info", "--adress=unix:/x"},
       "there is no option '--adress'; did you mean '--address'?"},
      {{"run", "--timout", "5s", "a.py"},
       "there is no option '--timout'; did you mean '--timeout'? (see "
       "sandglass run --help)"},
      {{"session", "create", "--idle", "5s", "py"},
       "there is no option '--idle'; did you mean '--idle-timeout'?"},
      {{"usage", "--sinc", "1h"}, "did you mean '--since'?"},
      {{"info", "-x"}, "there is no option '-x' (see sandglass info --help)"},
      {{"info", "--", "x"},
       "-- has a meaning for run, session exec and up only"}};
  for (const auto& [arguments, expected] : cases) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    const std::string all = ::testing::PrintToString(arguments);
    EXPECT_FALSE(parsed.command.has_value()) << all;
    EXPECT_EQ(parsed.exit_code, kExitError) << all;
    EXPECT_THAT(parsed.text, HasSubstr(expected)) << all;
    EXPECT_EQ(parsed.text.find('\n'), parsed.text.size() - 1) << all;
  }
}

TEST(CommandLineTest, HelpAndVersionAreNoErrors) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"},
        std::vector<std::string>{"run", "--help"}}) {
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    EXPECT_EQ(parsed.exit_code, 0);
    EXPECT_THAT(parsed.text, HasSubstr("124      TIMEOUT"));
    EXPECT_THAT(parsed.text, HasSubstr("sandglass run hello.py"));
    // Each command has a heading of its own.
    EXPECT_FALSE(absl::StrContains(parsed.text, "Subcommands:"));
    // What is about other commands stands in the whole program's help alone.
    for (const char* text :
         {"sandglass session create", "The other commands"}) {
      EXPECT_EQ(absl::StrContains(parsed.text, text),
                arguments.front() == "--help");
    }
  }
  // The others are about no program.
  for (const char* command : {"info", "languages", "ps", "kill"}) {
    const ParsedCommandLine parsed = ParseCommandLine({command, "--help"});
    EXPECT_EQ(parsed.exit_code, 0);
    EXPECT_THAT(parsed.text, HasSubstr(command));
    EXPECT_THAT(parsed.text, ::testing::Not(HasSubstr("TIMEOUT")));
    EXPECT_THAT(parsed.text, ::testing::Not(HasSubstr("hello.py")));
  }
  for (const char* version : {"--version", "-V", "version"}) {
    const ParsedCommandLine parsed = ParseCommandLine({version});
    EXPECT_EQ(parsed.exit_code, 0);
    EXPECT_THAT(parsed.text, ::testing::StartsWith("sandglass "));
  }
  const auto text = [](std::vector<std::string> arguments) {
    return ParseCommandLine(std::move(arguments)).text;
  };
  EXPECT_EQ(text({"help"}), text({"--help"}));
  EXPECT_EQ(text({"help", "run"}), text({"run", "--help"}));
  EXPECT_EQ(text({"help", "session", "exec"}),
            text({"session", "exec", "--help"}));
}

TEST(CommandLineTest, EveryCommandTakesTheEndpointBeforeAndBehindIt) {
  EXPECT_FALSE(ParseCommandLine({"ps"}).command->endpoint.address.has_value());
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--address", "h:1", "--ca", "c", "--cert", "d",
                                 "--key", "k", "--token-file", "t", "ps"},
        std::vector<std::string>{"ps", "--address", "h:1", "--ca", "c",
                                 "--cert", "d", "--key", "k", "--token-file",
                                 "t"}}) {
    const EndpointFlags flags = ParseCommandLine(arguments).command->endpoint;
    EXPECT_EQ(flags.address, "h:1");
    EXPECT_EQ(flags.ca, "c");
    EXPECT_EQ(flags.cert, "d");
    EXPECT_EQ(flags.key, "k");
    EXPECT_EQ(flags.token_file, "t");
  }
}

// Commands have such flags of their own, for other things.
TEST(CommandLineTest, TheContextOfADaemonIsNotThatOfAKernel) {
  const ParsedCommandLine parsed =
      ParseCommandLine({"--context", "team", "session", "run", "--context",
                        "kernel", "s-1", "-c", "1"});
  ASSERT_TRUE(parsed.command) << parsed.text;
  EXPECT_EQ(parsed.command->endpoint.context, "team");
}

TEST(CommandLineTest, TakesTheOtherCommands) {
  const auto info = ParseCommandLine({"info", "--json"});
  EXPECT_TRUE(std::get<InfoOptions>(info.command->command).json);
  const auto languages = ParseCommandLine({"languages"});
  EXPECT_FALSE(std::get<LanguagesOptions>(languages.command->command).json);
  const auto ps = ParseCommandLine({"ps", "-a", "--label", "a=b"});
  EXPECT_TRUE(std::get<PsOptions>(ps.command->command).all);
  EXPECT_THAT(std::get<PsOptions>(ps.command->command).labels,
              ElementsAre(Pair("a", "b")));
  const auto kill = ParseCommandLine({"kill", "r-1"});
  EXPECT_EQ(std::get<KillOptions>(kill.command->command).run_id, "r-1");
}

}  // namespace
}  // namespace sandglass::client
