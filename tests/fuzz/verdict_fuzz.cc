// What is made of a run's end: the wait status as a jail's init says it, the
// counters, and the end of what the program wrote to stderr, from which hints
// are drawn. The text comes last.
#include <algorithm>
#include <set>
#include <string>

#include "policy/limits/limit_fields.h"
#include "policy/verdict/hints.h"
#include "policy/verdict/verdict.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f; });
}

constexpr uint8_t kKillReasons =
    static_cast<uint8_t>(KillReason::kSessionDied) + 1;

RunFacts TakeFacts(fuzz::Input& input) {
  RunFacts facts;
  const uint8_t shape = input.Byte();
  facts.phase = (shape & 1) != 0 ? Phase::kCompile : Phase::kRun;
  if ((shape & 2) != 0) {
    facts.wait_status = static_cast<int>(input.Short() | input.Short() << 16);
  }
  if ((shape & 4) != 0) {
    facts.kill = Kill{static_cast<KillReason>(input.Byte() % kKillReasons),
                      absl::Nanoseconds(static_cast<int64_t>(input.Number())),
                      input.Number()};
  }
  if ((shape & 8) != 0) facts.oom_seen_after = absl::Milliseconds(input.Byte());
  facts.counters.oom_kills = input.Byte() % 3;
  facts.counters.memory_limit_hits = input.Byte() % 3;
  facts.counters.pids_limit_hits = input.Byte() % 3;
  if ((shape & 64) != 0) {
    facts.counters.oom_at_limit = (input.Byte() & 1) != 0;
  } else {
    facts.counters.jail_peak_memory_bytes = input.Number();
  }
  if ((shape & 128) != 0) facts.counters.jail_peak_processes = input.Byte();
  facts.wall_time = absl::Nanoseconds(static_cast<int64_t>(input.Number()));
  facts.cpu_time = absl::Nanoseconds(static_cast<int64_t>(input.Number()));
  facts.peak_memory_bytes = input.Number();
  facts.peak_processes = input.Short();
  facts.stdout_bytes = input.Number();
  facts.stderr_bytes = input.Number();
  facts.leftover_processes = input.Byte();
  if ((shape & 16) != 0) {
    facts.filesystems.push_back({LimitKind::kTmpBytes, input.Number(),
                                 input.Number(), input.Number(),
                                 input.Number()});
  }
  if ((shape & 32) != 0) facts.filesystems_before = facts.filesystems;
  return facts;
}

void CheckHints(const Verdict& verdict, std::string_view text, uint8_t shape) {
  std::set<std::string> ids;
  for (const Hint& hint : MakeHints({.outcome = verdict.outcome,
                          .stderr_tail = text,
                          .stdin_given = (shape & 1) != 0,
                          .output_truncated = (shape & 2) != 0,
                          .files_left_out = (shape & 4) != 0,
                          .compiling = (shape & 8) != 0,
                          .has_network = (shape & 64) != 0})) {
    FUZZ_CHECK(ids.insert(hint.id).second);
    FUZZ_CHECK(!hint.message.empty() && hint.message.size() <= 1024);
    FUZZ_CHECK(IsPlain(hint.id) && IsPlain(hint.message));
  }
}

void Run(fuzz::Input input) {
  RunFacts facts = TakeFacts(input);
  const uint8_t shape = input.Byte();
  const std::string_view text = input.Rest();
  facts.runtime_words =
      FindRuntimeWords({"MemoryError", "std::bad_alloc"}, text);
  facts.said_disk_full = SaysDiskFull(text);
  FUZZ_CHECK(facts.runtime_words.empty() ||
             text.find(facts.runtime_words) != std::string_view::npos);
  const Verdict verdict = Decide(facts, Limits());
  FUZZ_CHECK(!verdict.rule.empty() && IsPlain(verdict.rule));
  FUZZ_CHECK(!verdict.explanation.empty() && IsPlain(verdict.explanation));
  FUZZ_CHECK(!verdict.exit_code || !verdict.signal);
  FUZZ_CHECK(!verdict.exit_code ||
             (*verdict.exit_code >= 0 && *verdict.exit_code <= 255));
  if (verdict.signal) FUZZ_CHECK(!SignalName(*verdict.signal).empty());
  // Of our own kills and of a counter the program can't lie.
  if (facts.counters.oom_kills > 0 && !facts.kill) {
    FUZZ_CHECK(verdict.outcome != Outcome::kOk || facts.wait_status == 0);
  }
  CheckHints(verdict, text, shape);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
