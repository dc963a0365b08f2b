// Implements the rules of docs/verdicts.md. Their order is the contract.

#include "policy/verdict/verdict.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/text/units.h"
#include "policy/verdict/uncharged.h"

namespace sandglass::policy {
namespace {

uint64_t Nanoseconds(absl::Duration duration) {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration)));
}

// True when the kernel killed for memory although the jail was below its limit.
// A jail at its limit has a peak that is lower by the size of the last request,
// at most 32 KiB (Linux doesn't kill for larger ones).
bool OomIsAbove(const RunFacts& facts, const Limits& limits) {
  constexpr uint64_t kPiece = 1 << 20;
  const Counters& counters = facts.counters;
  if (counters.oom_kills == 0) return false;
  if (counters.oom_at_limit) return !*counters.oom_at_limit;
  return counters.jail_peak_memory_bytes &&
         *counters.jail_peak_memory_bytes + kPiece < limits.memory_bytes;
}

// True when the kernel refused a process although the jail was below its limit.
// Near the limit its count isn't trusted: it is racy (kernel/cgroup/pids.c).
bool PidsAreAbove(const RunFacts& facts, const Limits& limits) {
  constexpr uint32_t kRace = 4;
  const Counters& counters = facts.counters;
  return counters.pids_limit_hits > 0 && counters.jail_peak_processes &&
         *counters.jail_peak_processes + kRace < limits.max_processes;
}

// Returns every limit that the run reached, in the order of LimitKind, each
// kind once with its highest measurement.
std::vector<LimitReading> LimitsMet(const RunFacts& facts, const Limits& limits,
                                    std::optional<int> signal) {
  std::vector<LimitReading> met;
  const auto add = [&met](LimitKind kind, uint64_t configured,
                          uint64_t measured) {
    met.push_back({kind, configured, measured});
  };
  if (facts.wall_time >= limits.wall_time) {
    add(LimitKind::kWallTime, Nanoseconds(limits.wall_time),
        Nanoseconds(facts.wall_time));
  }
  if (facts.cpu_time >= limits.cpu_time) {
    add(LimitKind::kCpuTime, Nanoseconds(limits.cpu_time),
        Nanoseconds(facts.cpu_time));
  }
  const Counters& counters = facts.counters;
  if ((counters.oom_kills > 0 && !OomIsAbove(facts, limits)) ||
      counters.memory_limit_hits > 0) {
    add(LimitKind::kMemory, limits.memory_bytes, facts.peak_memory_bytes);
  }
  if (counters.pids_limit_hits > 0 && !PidsAreAbove(facts, limits)) {
    // The kernel refuses processes at the limit, so the limit was reached even
    // if no sample shows it.
    add(LimitKind::kProcesses, limits.max_processes,
        std::max(facts.peak_processes, limits.max_processes));
  }
  if (counters.cpu_throttled_periods > 0) {
    const double share =
        facts.wall_time > absl::ZeroDuration()
            ? absl::FDivDuration(facts.cpu_time, facts.wall_time)
            : 0;
    add(LimitKind::kCpuShare, limits.cpu_millis,
        static_cast<uint64_t>(std::max(0.0, share * 1000 + 0.5)));
  }
  for (const FilesystemFill& fill : facts.filesystems) {
    // A total of 0 means that the file system has no such bound.
    if (fill.total_bytes > 0 && fill.free_bytes == 0) {
      add(fill.bytes_kind,
          fill.bytes_kind == LimitKind::kTmpBytes ? limits.tmp_bytes
                                                  : limits.workspace_bytes,
          fill.total_bytes);
    }
    if (fill.total_inodes > 0 && fill.free_inodes == 0) {
      add(LimitKind::kFileCount, limits.max_files, fill.total_inodes);
    }
  }
  const uint64_t larger = std::max(facts.stdout_bytes, facts.stderr_bytes);
  if (larger > limits.output_bytes) {
    add(LimitKind::kOutputBytes, limits.output_bytes, larger);
  }
  const uint64_t total = facts.stdout_bytes + facts.stderr_bytes;
  if (total > limits.output_total_bytes) {
    add(LimitKind::kOutputTotalBytes, limits.output_total_bytes, total);
  }
  if (signal == SIGXFSZ) {
    // The kernel lets a file grow up to the limit and then sends a signal.
    add(LimitKind::kFileSize, limits.file_size_bytes, limits.file_size_bytes);
  }
  std::stable_sort(met.begin(), met.end(), [](const auto& a, const auto& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.measured > b.measured;
  });
  met.erase(std::unique(
                met.begin(), met.end(),
                [](const auto& a, const auto& b) { return a.kind == b.kind; }),
            met.end());
  return met;
}

const LimitReading* Find(const std::vector<LimitReading>& readings,
                         LimitKind kind) {
  const auto found = std::find_if(
      readings.begin(), readings.end(),
      [kind](const auto& reading) { return reading.kind == kind; });
  return found == readings.end() ? nullptr : &*found;
}

// The words for what ran in sentences.
struct Subject {
  const char* who;        // "program"
  const char* of_what;    // "of the run"
  const char* the_whole;  // "The run"
};

Subject SubjectOf(Phase phase) {
  switch (phase) {
    case Phase::kCompile:
      return {"compiler", "of the compile phase", "The compile phase"};
    case Phase::kAnalysis:
      return {"analyser", "of the analysis", "The analysis"};
    case Phase::kRun:
      break;
  }
  return {"program", "of the run", "The run"};
}

std::string Times(uint64_t count) {
  return count == 1 ? "once" : absl::StrCat(count, " times");
}

// For when something ran out above the jail: in the daemon's container or
// service, or on the machine.
constexpr char kNotItsFault[] =
    "that is no fault of the program, and the run can be repeated.";

void DecideOom(const RunFacts& facts, const Limits& limits, Verdict& verdict) {
  const bool above = OomIsAbove(facts, limits);
  verdict.outcome = above ? Outcome::kJailFailed : Outcome::kMemoryLimit;
  verdict.rule = above ? "host-memory" : "kernel-oom";
  verdict.killed_by = Killer::kKernelOom;
  verdict.killed_after = facts.oom_seen_after;
  const uint64_t kills = facts.counters.oom_kills;
  const std::string killed =
      absl::StrCat("The kernel killed ",
                   kills == 1 ? "a process" : absl::StrCat(kills, " processes"),
                   " ", SubjectOf(facts.phase).of_what, " for lack of memory");
  const std::string peak =
      facts.peak_memory_bytes > 0
          ? absl::StrCat(", the peak was ",
                         FormatBytes(facts.peak_memory_bytes))
          : "";
  if (above) {
    verdict.explanation =
        absl::StrCat(killed, " outside its jail, whose own limit of ",
                     FormatBytes(limits.memory_bytes), " was not met", peak,
                     ": ", kNotItsFault);
    return;
  }
  verdict.limit = LimitReading{LimitKind::kMemory, limits.memory_bytes,
                               facts.peak_memory_bytes};
  verdict.explanation = absl::StrCat(
      killed, ": the limit is ", FormatBytes(limits.memory_bytes), peak, ".");
}

void DecideJailDied(const RunFacts& facts, Verdict& verdict) {
  verdict.outcome = Outcome::kJailFailed;
  verdict.rule = "jail-died";
  verdict.explanation =
      absl::StrCat("The jail ended before the ", SubjectOf(facts.phase).who,
                   " did; that is the sandbox's failure and the run can be "
                   "repeated.");
}

void DecideKill(const RunFacts& facts, const Limits& limits, Verdict& verdict) {
  const Kill& kill = *facts.kill;
  if (kill.reason == KillReason::kSessionDied) {
    return DecideJailDied(facts, verdict);
  }
  const char* whole = SubjectOf(facts.phase).the_whole;
  verdict.killed_by = Killer::kDaemon;
  verdict.killed_after = kill.after;
  const auto measured = [&kill](uint64_t otherwise) {
    return kill.measured > 0 ? kill.measured : otherwise;
  };
  switch (kill.reason) {
    case KillReason::kWallTime: {
      const uint64_t wall = measured(Nanoseconds(kill.after));
      verdict.outcome = Outcome::kTimeout;
      verdict.rule = "wall-time";
      verdict.limit = LimitReading{LimitKind::kWallTime,
                                   Nanoseconds(limits.wall_time), wall};
      verdict.explanation = absl::StrCat(
          whole, " was stopped after ", FormatTime(absl::Nanoseconds(wall)),
          ": its wall time limit is ", FormatTime(limits.wall_time), ".");
      return;
    }
    case KillReason::kCpuTime: {
      const uint64_t cpu = measured(Nanoseconds(facts.cpu_time));
      verdict.outcome = Outcome::kCpuLimit;
      verdict.rule = "cpu-time";
      verdict.limit =
          LimitReading{LimitKind::kCpuTime, Nanoseconds(limits.cpu_time), cpu};
      verdict.explanation = absl::StrCat(whole, " was stopped after using ",
                                         FormatTime(absl::Nanoseconds(cpu)),
                                         " of processor time: its limit is ",
                                         FormatTime(limits.cpu_time), ".");
      return;
    }
    case KillReason::kOutput: {
      const uint64_t bytes = measured(facts.stdout_bytes + facts.stderr_bytes);
      verdict.outcome = Outcome::kOutputLimit;
      verdict.rule = "output-total";
      verdict.limit = LimitReading{LimitKind::kOutputTotalBytes,
                                   limits.output_total_bytes, bytes};
      verdict.explanation =
          absl::StrCat(whole, " was stopped after writing ", FormatBytes(bytes),
                       " of output: its limit is ",
                       FormatBytes(limits.output_total_bytes), ".");
      return;
    }
    case KillReason::kNetlink:
    case KillReason::kBacklog:
    case KillReason::kLocks:
      return DecideUncharged(kill, whole, verdict);
    case KillReason::kCancelled:
      verdict.outcome = Outcome::kCancelled;
      verdict.rule = "cancelled";
      verdict.explanation = absl::StrCat(whole, " was cancelled after ",
                                         FormatTime(kill.after), ".");
      return;
    case KillReason::kSessionEnded:
      verdict.outcome = Outcome::kCancelled;
      verdict.rule = "session-ended";
      verdict.explanation =
          absl::StrCat(whole, " was stopped after ", FormatTime(kill.after),
                       " because its session ended.");
      return;
    case KillReason::kSessionDied:
      return;  // see above: it kills nobody
    case KillReason::kShutdown:
      verdict.outcome = Outcome::kShutdown;
      verdict.rule = "shutdown";
      verdict.explanation =
          absl::StrCat(whole, " was stopped after ", FormatTime(kill.after),
                       " because the daemon is shutting down.");
      return;
  }
}

// The part of an output where a program says why it failed.
std::string_view EndOf(std::string_view output) {
  if (output.size() > kEndBytes) {
    output.remove_prefix(output.size() - kEndBytes);
  }
  return output;
}

bool WasFull(const RunFacts& facts, const FilesystemFill& fill,
             LimitKind kind) {
  return std::any_of(
      facts.filesystems_before.begin(), facts.filesystems_before.end(),
      [&](const FilesystemFill& before) {
        if (before.bytes_kind != fill.bytes_kind) return false;
        return kind == LimitKind::kFileCount
                   ? before.total_inodes > 0 && before.free_inodes == 0
                   : before.total_bytes > 0 && before.free_bytes == 0;
      });
}

std::string FullSentence(const FilesystemFill& fill,
                         const LimitReading& reading) {
  const char* where =
      fill.bytes_kind == LimitKind::kTmpBytes ? "/tmp" : "/workspace";
  if (reading.kind == LimitKind::kFileCount) {
    return absl::StrCat("no room for another file in ", where, ": all ",
                        reading.configured, " are used");
  }
  return absl::StrCat(where, " full: all of its ",
                      FormatBytes(reading.configured), " are used");
}

void DecideRuntimeMemory(const RunFacts& facts, const Limits& limits,
                         const std::string& how, Verdict& verdict) {
  verdict.outcome = Outcome::kMemoryLimit;
  verdict.rule = "runtime-memory";
  verdict.limit = LimitReading{LimitKind::kMemory, limits.memory_bytes,
                               facts.peak_memory_bytes};
  verdict.explanation = absl::StrCat(
      "The ", SubjectOf(facts.phase).who, " failed (", how,
      ") after its runtime had given up for lack of memory (it said \"",
      facts.runtime_words, "\"): the limit is ",
      FormatBytes(limits.memory_bytes), ", the peak was ",
      FormatBytes(facts.peak_memory_bytes), ".");
}

// For when only the program itself is to blame.
void DecideOwnFailure(const RunFacts& facts, const std::string& how,
                      Verdict& verdict) {
  const std::string after = FormatTime(facts.wall_time);
  if (facts.phase == Phase::kCompile) {
    verdict.outcome = Outcome::kCompileError;
    verdict.rule = "compile-error";
    verdict.explanation =
        verdict.signal
            ? absl::StrCat("The compiler was ended by ", how, " after ", after,
                           ".")
            : absl::StrCat("The compiler refused the program after ", after,
                           " (", how, "); its output says why.");
  } else if (verdict.signal) {
    verdict.outcome = Outcome::kSignaled;
    verdict.rule = "signaled";
    verdict.explanation =
        absl::StrCat("The program was ended by ", how, " after ", after, ".");
  } else {
    verdict.outcome = Outcome::kNonzeroExit;
    verdict.rule = "nonzero-exit";
    verdict.explanation = absl::StrCat(
        "The program exited with ", *verdict.exit_code, " after ", after, ".");
  }
}

// Compilers quote the source, which may contain such words; then the memory
// isn't used up.
bool IsMereQuotation(const RunFacts& facts, const Limits& limits) {
  return facts.phase == Phase::kCompile &&
         facts.peak_memory_bytes < limits.memory_bytes / 4;
}

// For when the program failed by itself. `met` are the limits that it reached.
void DecideFailure(const RunFacts& facts, const Limits& limits,
                   const std::vector<LimitReading>& met, Verdict& verdict) {
  verdict.killed_by = verdict.signal ? Killer::kProgramSignal : Killer::kNone;
  const char* who = SubjectOf(facts.phase).who;
  const std::string how = verdict.signal
                              ? SignalName(*verdict.signal)
                              : absl::StrCat("exit code ", *verdict.exit_code);
  if (const auto* reading = Find(met, LimitKind::kProcesses)) {
    verdict.outcome = Outcome::kPidsLimit;
    verdict.rule = "pids-refused";
    verdict.limit = *reading;
    verdict.explanation =
        absl::StrCat("The ", who, " failed (", how,
                     ") after the kernel had refused it another process ",
                     Times(facts.counters.pids_limit_hits), ": its limit is ",
                     limits.max_processes, " processes and threads.");
    return;
  }
  if (PidsAreAbove(facts, limits)) {
    verdict.outcome = Outcome::kJailFailed;
    verdict.rule = "host-processes";
    verdict.explanation = absl::StrCat(
        "The ", who, " failed (", how,
        ") after the kernel had refused it another process ",
        Times(facts.counters.pids_limit_hits),
        " at a limit outside its jail, whose own of ", limits.max_processes,
        " processes and threads was not met: ", kNotItsFault);
    return;
  }
  if (!facts.runtime_words.empty() && !IsMereQuotation(facts, limits)) {
    DecideRuntimeMemory(facts, limits, how, verdict);
    return;
  }
  for (const FilesystemFill& fill : facts.filesystems) {
    const LimitReading* reading = nullptr;
    if (fill.total_bytes > 0 && fill.free_bytes == 0) {
      reading = Find(met, fill.bytes_kind);
    } else if (fill.total_inodes > 0 && fill.free_inodes == 0) {
      reading = Find(met, LimitKind::kFileCount);
    }
    if (reading == nullptr) continue;
    // If the disk was full before, the failure may have another reason.
    if (!facts.said_disk_full && WasFull(facts, fill, reading->kind)) continue;
    verdict.outcome = Outcome::kDiskLimit;
    verdict.rule = "disk-full";
    verdict.limit = *reading;
    verdict.explanation = absl::StrCat("The ", who, " failed (", how, ") with ",
                                       FullSentence(fill, *reading), ".");
    return;
  }
  if (const auto* reading = Find(met, LimitKind::kFileSize)) {
    verdict.outcome = Outcome::kFileSizeLimit;
    verdict.rule = "file-size";
    verdict.limit = *reading;
    verdict.explanation =
        absl::StrCat("The ", who,
                     " was ended by SIGXFSZ: it wrote a file past its limit "
                     "of ",
                     FormatBytes(limits.file_size_bytes), ".");
    return;
  }
  DecideOwnFailure(facts, how, verdict);
}

void DecideOk(const RunFacts& facts, const std::vector<LimitReading>& met,
              Verdict& verdict) {
  verdict.outcome = Outcome::kOk;
  verdict.rule = "exit-ok";
  verdict.explanation =
      absl::StrCat("The ", SubjectOf(facts.phase).who, " exited with 0 after ",
                   FormatTime(facts.wall_time));
  if (!met.empty()) {
    absl::StrAppend(
        &verdict.explanation, "; on its way it met these limits: ",
        absl::StrJoin(met, ", ", [](std::string* out, const auto& reading) {
          out->append(LimitName(reading.kind));
        }));
  }
  verdict.explanation += '.';
}

// True when the kernel's out-of-memory kill came before the daemon's kill. The
// kernel doesn't count such kills in a group whose tasks are already dying
// (mm/memcontrol.c returns early for them), so a kill of unknown time came
// before.
bool OomCameFirst(const RunFacts& facts) {
  if (facts.counters.oom_kills == 0) return false;
  return !facts.kill || !facts.oom_seen_after ||
         *facts.oom_seen_after <= facts.kill->after;
}

}  // namespace

Verdict Decide(const RunFacts& facts, const Limits& limits) {
  Verdict verdict{.outcome = Outcome::kJailFailed};
  if (facts.wait_status) {
    const int status = *facts.wait_status;
    if (WIFEXITED(status)) verdict.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) verdict.signal = WTERMSIG(status);
  }
  const std::vector<LimitReading> met =
      LimitsMet(facts, limits, verdict.signal);

  if (facts.policy_stop) {
    // Nothing has run, so no other fact matters.
    const bool ask = facts.policy_stop->can_be_approved;
    verdict.outcome = ask ? Outcome::kNeedsApproval : Outcome::kDenied;
    verdict.rule = ask ? "needs-approval" : "policy-denied";
    verdict.explanation = facts.policy_stop->reason;
  } else if (OomCameFirst(facts)) {
    DecideOom(facts, limits, verdict);
  } else if (facts.kill) {
    DecideKill(facts, limits, verdict);
  } else if (!verdict.exit_code && !verdict.signal) {
    DecideJailDied(facts, verdict);
  } else if (verdict.signal == SIGXCPU && Find(met, LimitKind::kCpuTime)) {
    verdict.outcome = Outcome::kCpuLimit;
    verdict.rule = "cpu-backstop";
    verdict.killed_by = Killer::kProgramSignal;
    verdict.limit = *Find(met, LimitKind::kCpuTime);
    verdict.explanation =
        absl::StrCat("The kernel ended the ", SubjectOf(facts.phase).who,
                     " with SIGXCPU: it had used ", FormatTime(facts.cpu_time),
                     " of processor time and its limit is ",
                     FormatTime(limits.cpu_time), ".");
  } else if (verdict.exit_code == 0) {
    DecideOk(facts, met, verdict);
  } else {
    DecideFailure(facts, limits, met, verdict);
  }

  for (const LimitReading& reading : met) {
    if (!verdict.limit || verdict.limit->kind != reading.kind) {
      verdict.limits_touched.push_back(reading);
    }
  }
  return verdict;
}

std::string FindRuntimeWords(const std::vector<std::string>& words,
                             std::string_view stderr_data) {
  stderr_data = EndOf(stderr_data);
  for (const std::string& text : words) {
    if (stderr_data.find(text) != std::string_view::npos) return text;
  }
  return "";
}

bool SaysDiskFull(std::string_view output) {
  const std::string_view end = EndOf(output);
  // The first letter may be upper or lower case. The second text is that of
  // dash's echo.
  return end.find("o space left on device") != std::string_view::npos ||
         end.find("echo: I/O error") != std::string_view::npos;
}

}  // namespace sandglass::policy
