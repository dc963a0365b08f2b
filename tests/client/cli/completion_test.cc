// The scripts of `sandglass completion`, in the shells that are there.

#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/subprocess.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

// What a shell says to a script, whose first line may use the completions.
SubprocessResult InShell(const std::string& shell, const std::string& script) {
  SubprocessOptions options;
  options.program = "/bin/sh";
  options.env = {"PATH=/usr/bin:/bin"};
  options.args = {"-c", "exec \"$0\" -c \"$1\"", shell, script};
  return RunProcess(options);
}

std::string Script(const std::string& shell) {
  SubprocessOptions options;
  options.args = {"completion", shell};
  return RunProcess(options).out;
}

// The words that bash offers after these.
std::string Offered(const std::string& words) {
  return InShell("bash",
                 Script("bash") +
                     "t() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1));"
                     " _sandglass; echo \"${COMPREPLY[*]}\"; }\nt " +
                     words)
      .out;
}

TEST(Completion, BashOffersCommandsAndOptions) {
  EXPECT_THAT(Offered("sandglass ''"), HasSubstr("run info languages ps"));
  EXPECT_EQ(Offered("sandglass langu"), "languages\n");
  EXPECT_EQ(Offered("sandglass run --tim"), "--timeout\n");
  EXPECT_EQ(Offered("sandglass session snap"), "snapshot\n");
  EXPECT_EQ(Offered("sandglass --address unix:/x session run --conte"),
            "--context\n");
  // Files are for bash itself.
  EXPECT_EQ(Offered("sandglass run hel"), "\n");
  // A program's own arguments.
  EXPECT_EQ(Offered("sandglass run x.py -- --tim"), "\n");
}

TEST(Completion, ScriptsAreRightForTheirShells) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (InShell("sh", "command -v " + shell).exit_code != 0) continue;
    SubprocessOptions options;
    options.program = "/bin/sh";
    options.env = {"PATH=/usr/bin:/bin"};
    options.args = {"-c", "exec \"$0\" -n", shell};
    options.stdin_text = Script(shell);
    const SubprocessResult result = RunProcess(options);
    EXPECT_EQ(result.exit_code, 0) << shell << ": " << result.err;
    EXPECT_THAT(options.stdin_text, HasSubstr("made by: sandglass completion"));
  }
}

TEST(Completion, OtherShellsAreRefused) {
  SubprocessOptions options;
  options.args = {"completion", "tcsh"};
  const SubprocessResult result = RunProcess(options);
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("'tcsh' has no completion"));
}

}  // namespace
}  // namespace sandglass::client
