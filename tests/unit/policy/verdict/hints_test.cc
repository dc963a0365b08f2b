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

// What each language says at the end of stderr when it meets a limit that the
// kernel doesn't count, or the lack of something.
TEST(MakeHints, AreTheSameInEveryLanguage) {
  const struct {
    const char* hint;
    std::vector<std::string_view> texts;
  } rows[] = {
      {"file-size",
       {"OSError: [Errno 27] File too large",
        "Error: EFBIG: file too large, write\n  errno: -27,",
        "panic: write /tmp/x: file too large\n",
        "java.io.IOException: File too large\n\tat sun.nio.ch",
        "main.rb:1:in `write': File too large @ io_write - /tmp/x",
        "write: File too large at main.pl line 1.",
        "main.sh: line 1:     3 File size limit exceeded head -c 80M",
        "write: File too large"}},
      {"disk-full",
       {"OSError: [Errno 28] No space left on device",
        "Error: ENOSPC: no space left on device, write",
        "panic: write /tmp/x3: no space left on device",
        "java.io.IOException: No space left on device",
        "main.rb:1: No space left on device @ io_write (Errno::ENOSPC)",
        "sh: 1: echo: echo: I/O error"}},
      {"open-files",
       {"OSError: [Errno 24] Too many open files: '/dev/null'",
        "Error: EMFILE: too many open files, open '/dev/null'",
        "panic: open /dev/null: too many open files",
        "java.io.FileNotFoundException: /dev/null (Too many open files)",
        "Too many open files @ rb_sysopen - /dev/null (Errno::EMFILE)",
        "main.sh: line 1: /dev/null: Too many open files"}},
      {"network-off",
       {"<urlopen error [Errno -3] Temporary failure in name resolution>",
        "TypeError: fetch failed\n [cause]: Error: getaddrinfo EAI_AGAIN a.b",
        "Error: connect ENETUNREACH 192.0.2.1:80",
        // One text. NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "panic: Get \"http://a.b\": dial tcp: lookup a.b on [::1]:53: read: "
        "connection refused",
        "panic: dial tcp 192.0.2.1:80: connect: network is unreachable",
        "java.net.UnknownHostException: a.b",
        "Caused by: java.nio.channels.UnresolvedAddressException",
        "Failed to open TCP connection to a.b:80 (getaddrinfo: Temporary "
        "failure in name resolution) (SocketError)",
        "IO::Socket::INET: Bad hostname 'a.b:80'",
        "wget: unable to resolve host address 'a.b'",
        "curl: (6) Could not resolve host: a.b",
        "E: Unable to locate package jq",
        "fatal: unable to access 'https://a.b/': Could not resolve host: a.b",
        "W: Temporary failure resolving 'a.b'"}},
      {"read-only-root",
       {"OSError: [Errno 30] Read-only file system: '/hello.py'",
        "PermissionError: [Errno 13] Permission denied: '/etc/x'",
        "Error: EROFS: read-only file system, open '/hello.js'",
        "Error: EACCES: permission denied, open '/etc/x'",
        "panic: open /hello: read-only file system",
        "java.nio.file.FileSystemException: /hello: Read-only file system",
        "java.nio.file.AccessDeniedException: /etc/x",
        "Read-only file system @ rb_sysopen - /hello (Errno::EROFS)",
        "main.sh: line 1: /hello: Read-only file system"}},
      {"pids",
       {"RuntimeError: can't start new thread",
        // One text. NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "java.lang.OutOfMemoryError: unable to create native thread: possibly "
        "out of memory or process/resource limits reached",
        "runtime: failed to create new OS thread (have 5 already; errno=11)",
        "main.rb:1: Resource temporarily unavailable - fork(2) (Errno::EAGAIN)",
        "can't create Thread: Resource temporarily unavailable (ThreadError)",
        "main.sh: fork: retry: Resource temporarily unavailable"}},
      {"stdin-empty",
       {"EOFError: EOF when reading a line",
        // One text. NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
        "  File \"/usr/lib/python3.11/getpass.py\", line 148, in _raw_input\n"
        "    raise EOFError\nEOFError",
        "panic: EOF", "java.util.NoSuchElementException: No line found",
        "main.rb:1:in `readline': end of file reached (EOFError)",
        "main.rb:1: undefined method `chomp' for nil:NilClass (NoMethodError)\n"
        "name = gets.chomp"}},
      {"packages",
       {"ERROR: No matching distribution found for six",
        "error: externally-managed-environment",
        "    !pip install six\n    ^\nSyntaxError: invalid syntax",
        "/usr/bin/python3: No module named pip", "npm error code EAI_AGAIN",
        "sh: 1: pip: not found", "main.sh: line 1: npm: command not found",
        "ERROR:  Could not find a valid gem 'x' (>= 0)",
        "FileNotFoundError: [Errno 2] No such file or directory: 'pip'"}},
  };
  for (const auto& row : rows) {
    for (const std::string_view text : row.texts) {
      EXPECT_THAT(IdsOf(text), ::testing::Contains(row.hint)) << text;
    }
  }
}

TEST(MakeHints, FollowTheKernelsFacts) {
  const auto of = [](Outcome outcome, LimitKind met, std::string_view text) {
    return Ids({.outcome = outcome, .limits = {met}, .stderr_tail = text});
  };
  constexpr auto kFailed = Outcome::kNonzeroExit;
  EXPECT_THAT(of(Outcome::kOk, LimitKind::kProcesses, ""), ElementsAre("pids"));
  EXPECT_THAT(of(kFailed, LimitKind::kTmpBytes, ""), ElementsAre("disk-full"));
  EXPECT_THAT(of(kFailed, LimitKind::kWorkspaceBytes, ""),
              ElementsAre("disk-full"));
  EXPECT_THAT(of(kFailed, LimitKind::kFileCount, ""), ElementsAre("disk-full"));
  EXPECT_THAT(of(Outcome::kDiskLimit, LimitKind::kFileSize, ""),
              ElementsAre("disk-full", "file-size"));
  EXPECT_THAT(of(kFailed, LimitKind::kMemory, ""), ElementsAre("memory"));
  // It found room.
  EXPECT_THAT(of(Outcome::kOk, LimitKind::kMemory, ""), IsEmpty());
  // A loop that starts processes waits where it gets none.
  EXPECT_THAT(of(Outcome::kTimeout, LimitKind::kProcesses, ""),
              ElementsAre("pids"));
  EXPECT_THAT(of(Outcome::kTimeout, LimitKind::kCpuShare, ""),
              ElementsAre("timeout", "cpu-share"));
  // Java calls it memory.
  EXPECT_THAT(of(Outcome::kPidsLimit, LimitKind::kProcesses,
                 "java.lang.OutOfMemoryError: unable to create native thread\n"
                 "Cannot allocate memory"),
              ElementsAre("pids"));
}

TEST(TakeVerdict, SaysThatMemoryWasHeldForNothingThatCounts) {
  for (const auto& [rule, uncharged] :
       {std::pair("netlink-memory", true), std::pair("tcp-backlog", true),
        std::pair("record-locks", true), std::pair("memory-limit", false)}) {
    Verdict verdict{.outcome = Outcome::kMemoryLimit, .rule = rule};
    HintFacts facts;
    TakeVerdict(verdict, facts);
    EXPECT_EQ(facts.uncharged, uncharged) << rule;
  }
}

TEST(MakeHints, SeeWhatAProgramCaughtAndPrinted) {
  EXPECT_THAT(Ids({.stdout_tail = "failed: fetch failed\n"}),
              ElementsAre("network-off"));
  EXPECT_THAT(Ids({.stdout_tail = "[Errno 30] Read-only file system: '/x'"}),
              ElementsAre("read-only-root"));
  // What isn't about its surroundings is its own matter.
  EXPECT_THAT(Ids({.stdout_tail = "EOFError: EOF when reading a line\n"
                                  "MemoryError\nNo module named 'x'\n"}),
              IsEmpty());
}

TEST(MakeHints, PackagesAreNamedByWhatTheProfileOffers) {
  const auto message = [](LibraryOffer offer) {
    return MakeHints({.outcome = Outcome::kNonzeroExit,
                      .stderr_tail = "No matching distribution found for x",
                      .libraries = offer})[0]
        .message;
  };
  EXPECT_THAT(message(LibraryOffer::kToIt), HasSubstr("--library NAME"));
  EXPECT_THAT(message(LibraryOffer::kToOthers),
              HasSubstr("in their own language"));
  EXPECT_THAT(message(LibraryOffer::kNothing),
              Not(HasSubstr("--library NAME")));
  EXPECT_THAT(Ids({.outcome = Outcome::kNonzeroExit,
                   .stderr_tail = "No matching distribution found for x",
                   .has_network = true}),
              IsEmpty());
}

TEST(MakeHints, SayWhatNobodySees) {
  const auto of = [](std::string_view language, std::string_view source,
                     std::string_view printed = "") {
    return Ids(
        {.stdout_tail = printed, .language = language, .source = source});
  };
  EXPECT_THAT(
      of("python",
         "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n", ""),
      ElementsAre("figure-unseen"));
  EXPECT_THAT(of("python", "import pylab\npylab.savefig('/tmp/x.png')\n", "-"),
              ElementsAre("figure-unseen"));
  EXPECT_THAT(Ids({.stdout_tail = "-",
                   .language = "python",
                   .source = "import pylab\npylab.show()\n",
                   .fetches = true}),
              IsEmpty());
  EXPECT_THAT(of("python", "window.show()\n", "done\n"), IsEmpty());
  for (const std::string_view source :
       {"x = 2\nx ** 10\n", "df = f()\ndf.describe()", "[1, 2][0] == 1", "x",
        "df.head(n=3)", "d[f(a=1)]", "x == 'a=b'", "x >= 1", "x <= 1",
        "x != 1"}) {
    const auto expected = source[0] == '[' ? 0u : 1u;
    EXPECT_EQ(of("python", source).size(), expected) << source;
    EXPECT_THAT(of("python", source, "printed\n"), IsEmpty()) << source;
    EXPECT_THAT(of("bash", source), IsEmpty()) << source;
  }
  for (const std::string_view source :
       {"main()\n", "x = 3", "d['a'] = f(b=2)", "import x", "if x:\n  y",
        "open('x', 'w').write('y')  # = 3", "", "x += 1", "# a comment"}) {
    EXPECT_THAT(of("python", source), IsEmpty()) << source;
  }
  EXPECT_THAT(of("javascript", "const x = 2;\nx + 1;\n"),
              ElementsAre("value-unseen"));
  const std::vector<Hint> lost =
      MakeHints({.source = "echo > x", .files_lost = 2});
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].id, "files-lost");
  EXPECT_THAT(lost[0].message, HasSubstr("2 files"));
  EXPECT_THAT(lost[0].message, HasSubstr("--fetch"));
}

TEST(MakeHints, AQuestionOfNodeNeedsInput) {
  const std::string_view source = "rl.question('name? ', f)";
  EXPECT_THAT(Ids({.stdout_tail = "name? ",
                   .language = "javascript",
                   .source = source}),
              ElementsAre("stdin-empty"));
  EXPECT_THAT(Ids({.stdout_tail = "name? ",
                   .stdin_given = true,
                   .language = "javascript",
                   .source = source}),
              IsEmpty());
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
