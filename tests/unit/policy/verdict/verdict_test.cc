#include "policy/verdict/verdict.h"

#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/text/json_reader.h"
#include "policy/text/units.h"

namespace sandglass::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The cells of the table that follows `marker` in the document, without its
// two head lines.
std::vector<std::vector<std::string>> ReadTable(const std::string& marker) {
  std::ifstream file(SANDGLASS_SOURCE_DIR "/docs/verdicts.md");
  std::vector<std::vector<std::string>> rows;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    if (line == marker) {
      found = true;
      continue;
    }
    if (!found) continue;
    if (line.empty() || line[0] != '|') break;
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    cells.erase(cells.begin());
    cells.pop_back();
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    rows.push_back(cells);
  }
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

int SignalNumber(const std::string& name) {
  for (int number = 1; number < 64; ++number) {
    if (SignalName(number) == name) return number;
  }
  ADD_FAILURE() << "no signal " << name;
  return 0;
}

int Exited(int code) { return code << 8; }

absl::Duration ReadTime(const std::string& text) {
  absl::Duration duration;
  EXPECT_TRUE(absl::ParseDuration(text, &duration)) << text;
  return duration;
}

uint64_t ReadNumber(const std::string& text) {
  uint64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << text;
  return number;
}

KillReason ReadReason(const std::string& text) {
  const std::map<std::string, KillReason> reasons = {
      {"wall", KillReason::kWallTime},
      {"cpu", KillReason::kCpuTime},
      {"output", KillReason::kOutput},
      {"cancelled", KillReason::kCancelled},
      {"shutdown", KillReason::kShutdown},
      {"netlink", KillReason::kNetlink},
      {"backlog", KillReason::kBacklog},
      {"locks", KillReason::kLocks},
      {"session-ended", KillReason::kSessionEnded},
      {"session-died", KillReason::kSessionDied},
  };
  const auto found = reasons.find(text);
  EXPECT_NE(found, reasons.end()) << text;
  return found == reasons.end() ? KillReason::kShutdown : found->second;
}

// Two writable file systems, both half full; `full` fills one.
std::vector<FilesystemFill> HalfFull(const Limits& limits) {
  return {{LimitKind::kTmpBytes, limits.tmp_bytes, limits.tmp_bytes / 2,
           limits.max_files, limits.max_files / 2},
          {LimitKind::kWorkspaceBytes, limits.workspace_bytes,
           limits.workspace_bytes / 2, limits.max_files, limits.max_files / 2}};
}

// Reads "tmp-bytes" and the like.
void Fill(const std::string& what, std::vector<FilesystemFill>& filesystems) {
  FilesystemFill& fill = filesystems[what.substr(0, 4) == "tmp-" ? 0 : 1];
  if (what.substr(what.size() - 6) == "-bytes") {
    fill.free_bytes = 0;
  } else {
    EXPECT_EQ(what.substr(what.size() - 6), "-files");
    fill.free_inodes = 0;
  }
}

// Reads a row's facts. A word that it doesn't know fails the test.
RunFacts ReadFacts(const std::string& text, const Limits& limits) {
  RunFacts facts;
  facts.filesystems = HalfFull(limits);
  facts.wall_time = absl::Milliseconds(12);
  facts.cpu_time = absl::Milliseconds(10);
  facts.peak_memory_bytes = 20 << 20;
  bool ended = false;
  for (absl::string_view part : absl::StrSplit(text, "; ")) {
    const std::vector<std::string> pair = absl::StrSplit(part, '=');
    const std::string& name = pair[0];
    const std::string value = pair.size() > 1 ? pair[1] : "";
    if (name == "exit") {
      facts.wait_status = Exited(static_cast<int>(ReadNumber(value)));
      ended = true;
    } else if (name == "signal") {
      facts.wait_status = SignalNumber(value);
      ended = true;
    } else if (name == "no status") {
      ended = true;
    } else if (name == "policy") {
      EXPECT_TRUE(value == "denied" || value == "approval") << value;
      facts.policy_stop = PolicyStop{value == "approval", "Rule x is against."};
    } else if (name == "oom_kills") {
      facts.counters.oom_kills = ReadNumber(value);
    } else if (name == "ooms") {
      EXPECT_TRUE(value == "here" || value == "above") << value;
      facts.counters.oom_at_limit = value == "here";
    } else if (name == "jail_memory") {
      facts.counters.jail_peak_memory_bytes = ParseByteSize(value).value();
    } else if (name == "oom_seen") {
      facts.oom_seen_after = ReadTime(value);
    } else if (name == "kill") {
      const std::vector<std::string> kill = absl::StrSplit(value, '@');
      facts.kill = Kill{ReadReason(kill.at(0)), ReadTime(kill.at(1))};
    } else if (name == "pids_hits") {
      facts.counters.pids_limit_hits = ReadNumber(value);
    } else if (name == "jail_peak") {
      facts.counters.jail_peak_processes =
          static_cast<uint32_t>(ReadNumber(value));
    } else if (name == "memory_hits") {
      facts.counters.memory_limit_hits = ReadNumber(value);
    } else if (name == "throttled") {
      facts.counters.cpu_throttled_periods = ReadNumber(value);
    } else if (name == "full") {
      Fill(value, facts.filesystems);
    } else if (name == "was_full") {
      facts.filesystems_before = HalfFull(limits);
      Fill(value, facts.filesystems_before);
    } else if (name == "said_full") {
      facts.said_disk_full = true;
    } else if (name == "said") {
      facts.runtime_words = value;
    } else if (name == "peak") {
      facts.peak_memory_bytes = ParseByteSize(value).value();
    } else if (name == "phase") {
      EXPECT_EQ(value, "compile");
      facts.phase = Phase::kCompile;
    } else if (name == "wall") {
      facts.wall_time = ReadTime(value);
    } else if (name == "cpu") {
      facts.cpu_time = ReadTime(value);
    } else if (name == "stdout") {
      facts.stdout_bytes = ParseByteSize(value).value();
    } else if (name == "stderr") {
      facts.stderr_bytes = ParseByteSize(value).value();
    } else {
      ADD_FAILURE() << "unknown fact " << part;
    }
  }
  EXPECT_TRUE(ended) << "no end in: " << text;
  return facts;
}

std::string KillerText(Killer killer) {
  switch (killer) {
    case Killer::kNone:
      return "nobody";
    case Killer::kKernelOom:
      return "kernel oom";
    case Killer::kDaemon:
      return "daemon";
    case Killer::kProgramSignal:
      return "signal";
  }
  return "?";
}

std::string Name(const LimitReading& reading) {
  return std::string(LimitName(reading.kind));
}

class VerdictTable : public ::testing::TestWithParam<std::vector<std::string>> {
};

TEST_P(VerdictTable, RowHolds) {
  ASSERT_EQ(GetParam().size(), 6u);
  const Limits limits;
  const RunFacts facts = ReadFacts(GetParam()[1], limits);
  const Verdict verdict = Decide(facts, limits);
  EXPECT_EQ(verdict.rule, GetParam()[0]);
  EXPECT_EQ(OutcomeName(verdict.outcome), GetParam()[2]);
  EXPECT_EQ(KillerText(verdict.killed_by), GetParam()[3]);
  EXPECT_EQ(verdict.limit ? Name(*verdict.limit) : "", GetParam()[4]);
  std::vector<std::string> touched;
  for (const LimitReading& reading : verdict.limits_touched) {
    touched.push_back(Name(reading));
    EXPECT_GT(reading.configured, 0u) << touched.back();
    EXPECT_GT(reading.measured, 0u) << touched.back();
  }
  EXPECT_EQ(absl::StrJoin(touched, ", "), GetParam()[5]);
  if (verdict.limit) {
    EXPECT_GT(verdict.limit->configured, 0u);
    EXPECT_GT(verdict.limit->measured, 0u);
  }
  // One sentence.
  EXPECT_THAT(verdict.explanation, ::testing::MatchesRegex("[A-Z][^\n]*\\."));
  EXPECT_THAT(verdict.explanation, Not(HasSubstr(". ")));
}

INSTANTIATE_TEST_SUITE_P(
    Docs, VerdictTable,
    ::testing::ValuesIn(ReadTable("<!-- table: verdicts -->")),
    [](const auto& test) {
      std::string name = absl::StrCat(test.index, "_", test.param[0]);
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

TEST(VerdictDocument, TableShowsEveryOutcomeThatARunCanHave) {
  std::set<std::string> outcomes;
  for (const auto& row : ReadTable("<!-- table: verdicts -->")) {
    outcomes.insert(row.at(2));
  }
  for (int value = 1; value <= static_cast<int>(Outcome::kDenied); ++value) {
    const Outcome outcome = static_cast<Outcome>(value);
    EXPECT_EQ(outcomes.count(std::string(OutcomeName(outcome))), 1u)
        << OutcomeName(outcome);
  }
}

TEST(Verdict, SaysWhichPhaseFailed) {
  const Limits limits;
  RunFacts facts = ReadFacts("exit=1; oom_kills=1; phase=compile", limits);
  EXPECT_THAT(Decide(facts, limits).explanation,
              HasSubstr("a process of the compile phase"));
  facts = ReadFacts("exit=1; phase=compile", limits);
  EXPECT_THAT(Decide(facts, limits).explanation,
              HasSubstr("The compiler refused the program"));
  facts = ReadFacts("exit=134; said=heap out of memory", limits);
  EXPECT_THAT(Decide(facts, limits).explanation,
              AllOf(HasSubstr("The program failed (exit code 134)"),
                    HasSubstr("\"heap out of memory\""),
                    HasSubstr("the limit is 256 MiB, the peak was 20 MiB")));
}

TEST(RuntimeWords, AreLookedForInTheEndOfStderr) {
  const std::vector<std::string> words = {"heap out of memory",
                                          "\nMemoryError"};
  EXPECT_EQ(FindRuntimeWords(words, "x heap out of memory y"),
            "heap out of memory");
  EXPECT_EQ(FindRuntimeWords(words, "Traceback\nMemoryError\n"),
            "\nMemoryError");
  EXPECT_EQ(FindRuntimeWords(words, "my MemoryError"), "");
  EXPECT_EQ(FindRuntimeWords({}, "heap out of memory"), "");
  EXPECT_EQ(FindRuntimeWords(words, std::string("heap out of memory") +
                                        std::string(16 * 1024, '.')),
            "");
  EXPECT_EQ(FindRuntimeWords(
                words, std::string(16 * 1024, '.') + "heap out of memory"),
            "heap out of memory");
}

TEST(VerdictDocument, EveryOutcomeHasAnExitCodeThatNoOtherHas) {
  std::map<std::string, std::string> codes;
  std::set<std::string> unique;
  for (const auto& row : ReadTable("<!-- table: exit-codes -->")) {
    codes[row.at(0)] = row.at(1);
    // But for exec's, which says what it shares.
    EXPECT_TRUE(unique.insert(row.at(1)).second ||
                absl::StrContains(row.at(0), "one number with two meanings"))
        << row.at(1) << " twice";
  }
  for (int value = 1; value <= static_cast<int>(Outcome::kDenied); ++value) {
    const std::string name(OutcomeName(static_cast<Outcome>(value)));
    EXPECT_EQ(codes.count(name), 1u) << name;
  }
  EXPECT_EQ(codes["TIMEOUT"], "124");
  EXPECT_EQ(codes["MEMORY_LIMIT"], "137");
}

TEST(Decide, TellsHowTheMainProcessEndedWhateverTheOutcome) {
  const Verdict exited = Decide(
      {.wait_status = Exited(3), .counters = {.oom_kills = 1}}, Limits());
  EXPECT_EQ(exited.exit_code, 3);
  EXPECT_EQ(exited.signal, std::nullopt);
  const Verdict killed =
      Decide({.wait_status = SIGKILL,
              .kill = Kill{KillReason::kCancelled, absl::Seconds(1)}},
             Limits());
  EXPECT_EQ(killed.exit_code, std::nullopt);
  EXPECT_EQ(killed.signal, SIGKILL);
}

TEST(SaysDiskFull, AsProgramsDo) {
  EXPECT_TRUE(SaysDiskFull("OSError: [Errno 28] No space left on device\n"));
  EXPECT_TRUE(SaysDiskFull("Error: ENOSPC: no space left on device, write"));
  EXPECT_TRUE(SaysDiskFull("/bin/sh: 1: echo: echo: I/O error\n"));
  EXPECT_FALSE(SaysDiskFull("NameError: name 'space' is not defined"));
  EXPECT_FALSE(SaysDiskFull(""));
  EXPECT_FALSE(
      SaysDiskFull("No space left on device" + std::string(kEndBytes, '\n')));
}

TEST(Decide, CoreDumpBitChangesNothing) {
  EXPECT_EQ(Decide({.wait_status = SIGSEGV | 0x80}, Limits()).signal, SIGSEGV);
}

TEST(Decide, StopStatusIsNoEnd) {
  const int stopped = (SIGSTOP << 8) | 0x7f;
  ASSERT_TRUE(WIFSTOPPED(stopped));
  EXPECT_EQ(Decide({.wait_status = stopped}, Limits()).outcome,
            Outcome::kJailFailed);
}

TEST(Decide, KillCarriesItsTimeAndMeasurement) {
  const Verdict verdict =
      Decide({.wait_status = SIGKILL,
              .kill = Kill{KillReason::kWallTime, absl::Milliseconds(2003),
                           2003000000},
              .wall_time = absl::Milliseconds(2010)},
             {.wall_time = absl::Seconds(2)});
  EXPECT_EQ(verdict.killed_after, absl::Milliseconds(2003));
  EXPECT_EQ(verdict.limit,
            (LimitReading{LimitKind::kWallTime, 2000000000, 2003000000}));
  EXPECT_EQ(verdict.explanation,
            "The run was stopped after 2.003 s: its wall time limit is 2 s.");
}

TEST(Decide, MemoryExplanationHasLimitAndPeak) {
  const Verdict verdict = Decide({.wait_status = SIGKILL,
                                  .oom_seen_after = absl::Seconds(1),
                                  .counters = {.oom_kills = 2},
                                  .peak_memory_bytes = uint64_t{256} << 20},
                                 Limits());
  EXPECT_EQ(verdict.killed_after, absl::Seconds(1));
  EXPECT_EQ(verdict.explanation,
            "The kernel killed 2 processes of the run for lack of memory: the "
            "limit is 256 MiB, the peak was 256 MiB.");
}

TEST(Decide, MemoryExplanationLeavesOutAnUnknownPeak) {
  EXPECT_EQ(
      Decide({.wait_status = SIGKILL, .counters = {.oom_kills = 1}}, Limits())
          .explanation,
      "The kernel killed a process of the run for lack of memory: the "
      "limit is 256 MiB.");
}

TEST(Decide, ShareOfProcessorIsMeasuredInThousandths) {
  const Verdict verdict = Decide({.wait_status = 0,
                                  .counters = {.cpu_throttled_periods = 5},
                                  .wall_time = absl::Seconds(4),
                                  .cpu_time = absl::Seconds(2)},
                                 {.cpu_millis = 500});
  ASSERT_EQ(verdict.limits_touched.size(), 1u);
  EXPECT_EQ(verdict.limits_touched[0],
            (LimitReading{LimitKind::kCpuShare, 500, 500}));
}

TEST(Decide, FileSystemWithoutABoundIsNeverFull) {
  EXPECT_EQ(Decide({.wait_status = Exited(1),
                    .filesystems = {{.bytes_kind = LimitKind::kTmpBytes}}},
                   Limits())
                .outcome,
            Outcome::kNonzeroExit);
}

TEST(Decide, FullFileSystemsOfOneKindAreToldOnce) {
  RunFacts facts{.wait_status = 0, .filesystems = HalfFull(Limits())};
  for (FilesystemFill& fill : facts.filesystems) fill.free_inodes = 0;
  EXPECT_EQ(Decide(facts, Limits()).limits_touched.size(), 1u);
}

TEST(Decide, EmptyFactsAreOurFailure) {
  EXPECT_EQ(Decide({}, Limits()).outcome, Outcome::kJailFailed);
}

TEST(SignalName, NamesKnownSignalsAndNumbersOthers) {
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(SIGXFSZ), "SIGXFSZ");
  EXPECT_EQ(SignalName(40), "SIG40");
  EXPECT_EQ(SignalName(0), "SIG0");
  EXPECT_EQ(SignalName(-1), "SIG-1");
  EXPECT_EQ(SignalName(100000), "SIG100000");
}

TEST(LimitName, IsTheFieldsName) {
  EXPECT_EQ(LimitName(LimitKind::kMemory), "memory_bytes");
  EXPECT_EQ(LimitName(LimitKind::kProcesses), "max_processes");
  EXPECT_EQ(LimitName(LimitKind::kFileSize), "file_size_bytes");
}

TEST(FormatBytes, ChoosesTheUnitThatReadsWell) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(FormatBytes(uint64_t{256} << 20), "256 MiB");
  EXPECT_EQ(FormatBytes(~uint64_t{0}), "16 EiB");
}

TEST(FormatTime, ChoosesTheUnitThatReadsWell) {
  EXPECT_EQ(FormatTime(absl::Seconds(30)), "30 s");
  EXPECT_EQ(FormatTime(absl::Milliseconds(1250)), "1.25 s");
  EXPECT_EQ(FormatTime(absl::Milliseconds(500)), "500 ms");
  EXPECT_EQ(FormatTime(absl::Microseconds(80)), "80 us");
  EXPECT_EQ(FormatTime(absl::ZeroDuration()), "0 s");
  EXPECT_EQ(FormatTime(-absl::Seconds(1)), "0 s");
  EXPECT_EQ(FormatTime(absl::InfiniteDuration()), "for ever");
}

}  // namespace
}  // namespace sandglass::policy
