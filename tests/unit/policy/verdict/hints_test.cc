#include "policy/verdict/hints.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Ids(const HintFacts& facts) {
  std::vector<std::string> ids;
  for (const Hint& hint : MakeHints(facts)) ids.push_back(hint.id);
  return ids;
}

std::vector<std::string> IdsOf(std::string_view stderr_tail) {
  return Ids({.outcome = Outcome::kNonzeroExit, .stderr_tail = stderr_tail});
}

TEST(MakeHints, QuietRunGetsNone) {
  EXPECT_THAT(Ids({.outcome = Outcome::kOk}), IsEmpty());
  EXPECT_THAT(Ids({.outcome = Outcome::kNonzeroExit}), IsEmpty());
}

TEST(MakeHints, LimitsThatEndARunEachHaveOne) {
  EXPECT_THAT(Ids({.outcome = Outcome::kMemoryLimit}), ElementsAre("memory"));
  EXPECT_THAT(Ids({.outcome = Outcome::kTimeout}), ElementsAre("timeout"));
  EXPECT_THAT(Ids({.outcome = Outcome::kCpuLimit}), ElementsAre("cpu-time"));
  EXPECT_THAT(Ids({.outcome = Outcome::kPidsLimit}), ElementsAre("pids"));
  EXPECT_THAT(Ids({.outcome = Outcome::kDiskLimit}), ElementsAre("disk-full"));
  EXPECT_THAT(Ids({.outcome = Outcome::kFileSizeLimit}),
              ElementsAre("file-size"));
}

TEST(MakeHints, NamesTheLibraryThatIsMissing) {
  const auto message = [](std::string_view text) {
    const std::vector<Hint> hints =
        MakeHints({.outcome = Outcome::kNonzeroExit, .stderr_tail = text});
    return hints.empty() ? "" : hints[0].message;
  };
  EXPECT_THAT(message("Error: Cannot find module 'axios'\n"),
              HasSubstr("Node module \"axios\""));
  EXPECT_THAT(message("Cannot find package '@scope/x' imported from /w"),
              HasSubstr("Node package \"@scope/x\""));
  EXPECT_THAT(message("cannot load such file -- nokogiri (LoadError)"),
              HasSubstr("Ruby library \"nokogiri\""));
  EXPECT_THAT(message("no required module provides package github.com/a/b;"),
              HasSubstr("Go package \"github.com/a/b\""));
  EXPECT_THAT(message("Can't locate Foo/Bar.pm in @INC"),
              HasSubstr("Perl module \"Foo/Bar.pm\""));
  // The program's own files.
  EXPECT_EQ(message("Error: Cannot find module './lib.js'"), "");
  EXPECT_EQ(message("Error: Cannot find module '/workspace/lib.js'"), "");
}

TEST(MakeHints, OfTheCompilePhaseNameItsLimits) {
  const std::vector<Hint> hints =
      MakeHints({.outcome = Outcome::kMemoryLimit, .compiling = true});
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_THAT(hints[0].message, HasSubstr("ask for more in compile_limits"));
}

TEST(MakeHints, OutputLimitCoversTheTruncation) {
  EXPECT_THAT(Ids({.outcome = Outcome::kOutputLimit, .output_truncated = true}),
              ElementsAre("output-limit"));
  EXPECT_THAT(Ids({.outcome = Outcome::kOk, .output_truncated = true}),
              ElementsAre("output-truncated"));
  // A client that streams has all of it.
  EXPECT_THAT(
      MakeHints({.outcome = Outcome::kOk, .output_truncated = true})[0].message,
      HasSubstr("The answer keeps only the first and last part"));
}

TEST(MakeHints, FilesThatDidNotComeAreTold) {
  EXPECT_THAT(Ids({.outcome = Outcome::kOk, .files_left_out = true}),
              ElementsAre("files-left-out"));
}

TEST(MakeHints, OurOwnEndingsGetNone) {
  for (Outcome outcome :
       {Outcome::kCancelled, Outcome::kShutdown, Outcome::kJailFailed}) {
    EXPECT_THAT(Ids({.outcome = outcome,
                     .stderr_tail = "MemoryError",
                     .output_truncated = true}),
                IsEmpty());
  }
}

TEST(MakeHints, RecognisesWhatProgramsPrint) {
  EXPECT_THAT(IdsOf("socket.gaierror: [Errno -3] Temporary failure in name "
                    "resolution\n"),
              ElementsAre("network-off"));
  EXPECT_THAT(IdsOf("curl: (6) Could not resolve host: example.org"),
              ElementsAre("network-off"));
  EXPECT_THAT(IdsOf("OSError: [Errno 101] Network is unreachable"),
              ElementsAre("network-off"));
  EXPECT_THAT(IdsOf("OSError: [Errno 30] Read-only file system: '/etc/x'"),
              ElementsAre("read-only-root"));
  EXPECT_THAT(IdsOf("PermissionError: [Errno 13] Permission denied: '/usr/x'"),
              ElementsAre("read-only-root"));
  EXPECT_THAT(IdsOf("main.sh: line 1: /root/x: Permission denied"),
              ElementsAre("read-only-root"));
  EXPECT_THAT(IdsOf("MemoryError"), ElementsAre("memory"));
  EXPECT_THAT(IdsOf("RuntimeError: can't start new thread"),
              ElementsAre("pids"));
  EXPECT_THAT(IdsOf("OSError: [Errno 27] File too large"),
              ElementsAre("file-size"));
  EXPECT_THAT(IdsOf("OSError: [Errno 28] No space left on device"),
              ElementsAre("disk-full"));
  EXPECT_THAT(IdsOf("OSError: [Errno 24] Too many open files: 'x'"),
              ElementsAre("open-files"));
  for (const char* text :
       {"OSError: out of pty devices",
        "script: failed to create pseudo-terminal: No such file or directory",
        "create window failed: fork failed: No such file or directory",
        "    import os; os.openpty()\nFileNotFoundError: [Errno 2] No such "
        "file or directory"}) {
    EXPECT_THAT(IdsOf(text), ElementsAre("no-terminal")) << text;
  }
  for (const char* text :
       {"Error: ENOSYS: function not implemented, watch '/tmp'",
        "Couldn't initialize inotify: Function not implemented"}) {
    EXPECT_THAT(IdsOf(text), ElementsAre("no-file-watch")) << text;
  }
}

TEST(MakeHints, TheNetworkIsOffOnlyWhereThereIsNone) {
  EXPECT_THAT(Ids({.outcome = Outcome::kNonzeroExit,
                   .stderr_tail = "curl: (6) Could not resolve host: a.example",
                   .has_network = true}),
              IsEmpty());
}

TEST(MakeHints, RefusalBelowWritablePlacesIsTheProgramsOwnMatter) {
  EXPECT_THAT(IdsOf("Permission denied: '/workspace/main.sh'"), IsEmpty());
  EXPECT_THAT(IdsOf("main.sh: line 1: ./x: Permission denied"), IsEmpty());
  EXPECT_THAT(IdsOf("see /usr/share\nPermission denied: '/tmp/x'"), IsEmpty());
}

TEST(MakeHints, NamesTheMissingModule) {
  const auto hints = MakeHints(
      {.outcome = Outcome::kNonzeroExit,
       .stderr_tail = "ModuleNotFoundError: No module named 'numpy.linalg'\n"});
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_EQ(hints[0].id, "missing-module");
  EXPECT_THAT(hints[0].message, HasSubstr("\"numpy.linalg\""));
}

TEST(MakeHints, NamesTheMissingCommand) {
  const auto hints =
      MakeHints({.outcome = Outcome::kNonzeroExit,
                 .stderr_tail = "main.sh: line 3: jq: command not found\n"});
  ASSERT_EQ(hints.size(), 1u);
  EXPECT_EQ(hints[0].id, "missing-command");
  EXPECT_THAT(hints[0].message, HasSubstr("\"jq\""));
}

TEST(MakeHints, EndOfInputDependsOnWhetherThereWasAny) {
  const std::string_view text = "EOFError: EOF when reading a line\n";
  EXPECT_THAT(Ids({.outcome = Outcome::kNonzeroExit, .stderr_tail = text}),
              ElementsAre("stdin-empty"));
  EXPECT_THAT(Ids({.outcome = Outcome::kNonzeroExit,
                   .stderr_tail = text,
                   .stdin_given = true}),
              ElementsAre("stdin-ended"));
}

TEST(MakeHints, EachIdComesOnce) {
  const auto ids = Ids({.outcome = Outcome::kMemoryLimit,
                        .stderr_tail = "MemoryError\nMemoryError\n"
                                       "Network is unreachable\n"
                                       "Name or service not known\n"});
  EXPECT_THAT(ids, ElementsAre("memory", "network-off"));
}

TEST(MakeHints, LooksAtTheTailOnly) {
  const std::string filler(kHintScanBytes, 'x');
  EXPECT_THAT(IdsOf("MemoryError" + filler), IsEmpty());
  EXPECT_THAT(IdsOf(filler + "MemoryError"), ElementsAre("memory"));
}

TEST(MakeHints, HostileNamesDoNotReachTheMessage) {
  const std::string names[] = {
      "No module named '\x1b[2Jx'",
      "No module named '",
      "No module named ",
      "No module named '" + std::string(4000, 'a') + "'",
      "a\x1b]0;t: command not found",
      ": command not found",
      std::string("No module named '\0\xff'", 19)};
  for (const std::string& text : names) {
    for (const Hint& hint :
         MakeHints({.outcome = Outcome::kNonzeroExit, .stderr_tail = text})) {
      EXPECT_LT(hint.message.size(), 200u);
      for (char c : hint.message) {
        EXPECT_TRUE(c >= 0x20 && c < 0x7f) << hint.message;
      }
    }
  }
  EXPECT_THAT(IdsOf(names[0]), IsEmpty());
}

TEST(MakeHints, AnyBytesAreTaken) {
  std::string bytes;
  for (int i = 0; i < 20000; ++i) bytes += static_cast<char>(i * 7919 >> 3);
  EXPECT_THAT(IdsOf(bytes), IsEmpty());
}

}  // namespace
}  // namespace sandglass::policy
