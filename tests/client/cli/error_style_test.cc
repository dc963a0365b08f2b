// Wrong uses of all commands: one line of one form says what was wrong, with
// the value, and what to do, and nothing is printed as output.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/subprocess.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct WrongUse {
  std::string words;  // with spaces between them
  std::string wrong;  // what the message names
  std::string advice;
  int exit_code = 125;
};

const std::vector<WrongUse>& kWrong = *new std::vector<WrongUse>{
    {"", "give a command", "(see sandglass --help)"},
    {"rnu", "'rnu'", "did you mean 'run'?"},
    {"session crate", "'session crate'", "did you mean 'session create'?"},
    {"help rnu", "'rnu'", "did you mean 'run'?"},
    {"info --jsn", "'--jsn'", "did you mean '--json'?"},
    {"info --json=x", "--json", "takes no value"},
    {"info x", "'x'", "(see sandglass info --help)"},
    {"info -- x", "--", "has a meaning for run"},
    {"doctor --profile", "--profile", "needs a value: NAME"},
    {"run", "give a FILE", "(see sandglass run --help)"},
    {"run no.py", "'no.py'", "No such file"},
    {"run -c x y", "FILE and -c", "exclude each other"},
    {"run -c x --timeout soon", "--timeout: 'soon'", "write for example"},
    {"run -c x --memory lots", "--memory: 'lots'", "write for example"},
    {"run -c x --pids 0", "--pids: '0'", "write a number"},
    {"run -c x --env A", "--env 'A'", "write NAME=VALUE"},
    {"run -c x --file =", "--file '='", "write LOCAL"},
    {"run -c x --repeat 2 --json", "--repeat", "excludes --json"},
    {"kill", "RUN_ID", "is required"},
    {"session", "give a command of session", "create"},
    {"session info", "ID", "is required"},
    {"session create --max-age old", "--max-age: 'old'", "write for example"},
    {"session list --state odd", "--state 'odd'", "write active"},
    {"session stop s e -s FOO", "--signal: 'FOO'", "write a name"},
    {"session update s", "say what to change", "--label"},
    {"session rm", "give the ID", "--all"},
    {"session restore s /no/such", "'/no/such'", "No such file"},
    {"policy", "give a command", "check or test"},
    {"policy test default", "give a FILE", "-c CODE"},
    {"approvals show", "APPROVAL_ID", "is required"},
    {"layers build py", "give a LIBRARY", "--library-lock"},
    {"audit", "give a command of audit", "verify", 2},
    {"audit verify", "PATH", "is required", 2},
    {"audit verify /no/such", "'/no/such'", "No such file", 2},
    {"audit verify /tmp --head x", "--head: 'x'", "write SEQ:HASH", 2},
    {"audit show /tmp --since noon", "--since: 'noon'", "write for", 2},
    {"usage --by day", "--by 'day'", "write caller or language"},
    {"usage --since 1h", "--since", "need --audit"},
    {"top --interval 1ms", "--interval '1ms'", "write at least"},
    {"completion tcsh", "'tcsh'", "write bash"},
    {"up --wait x", "--wait: 'x'", "write for example"},
    {"down --state-dir x", "--state-dir 'x'", "write the whole path"},
    {"logs -n 0", "--lines: '0'", "write a number"},
    {"mcp --http x", "'x'", "write 127.0.0.1:PORT"},
    {"--address x info", "'x' is no address", "write unix:"},
    {"--address unix:/no/such info", "unix:/no/such", "start one with"},
};

TEST(CliErrorTest, AWrongUseIsOneLineOfOneForm) {
  for (const WrongUse& use : kWrong) {
    SCOPED_TRACE(use.words);
    SubprocessOptions options;
    options.args = absl::StrSplit(use.words, ' ', absl::SkipEmpty());
    const SubprocessResult result = RunProcess(options);
    EXPECT_EQ(result.exit_code, use.exit_code);
    EXPECT_EQ(result.out, "");
    ASSERT_THAT(result.err, AllOf(StartsWith("sandglass: "),
                                  HasSubstr(use.wrong), HasSubstr(use.advice)));
    // One line, that begins as one of several does and isn't a sentence.
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1);
    EXPECT_FALSE(absl::EndsWith(result.err, ".\n"));
  }
}

TEST(CliErrorTest, WhatIsQuotedIsHarmlessForATerminal) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"\x1b[2J"},
        {"info", "--\x1b[2J"},
        {"run", "\x1b[2J\n"},
        {"run", "-c", "x", "--timeout", "\x1b[2J"},
        {"usage", "--by", "\x1b[2J"},
        {"--address", "\x1b[2J", "info"},
        {"up", "--state-dir", "\x1b[2J"},
        {"completion", "\x1b[2J"},
        {"audit", "verify", "\x1b[2J"}}) {
    SubprocessOptions options;
    options.args = words;
    const SubprocessResult result = RunProcess(options);
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << result.err;
    EXPECT_THAT(result.err, HasSubstr("\\x1b[2J")) << words.front();
  }
}

}  // namespace
}  // namespace sandglass::client
