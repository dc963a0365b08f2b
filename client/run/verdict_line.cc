#include "client/run/verdict_line.h"

#include <csignal>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

std::string Coloured(absl::string_view text, bool good, Colour colour) {
  if (colour == Colour::kOff) return std::string(text);
  return absl::StrCat(good ? "\x1b[32m" : "\x1b[31m", text, "\x1b[0m");
}

// The outcome with its number, for example "NONZERO_EXIT 3".
std::string OutcomeWords(const v1::RunCodeResponse& response) {
  std::string words = OutcomeName(response.outcome());
  if (response.outcome() == v1::OUTCOME_NONZERO_EXIT) {
    absl::StrAppend(&words, " ", response.exit_code());
  } else if (response.outcome() == v1::OUTCOME_SIGNALED) {
    const std::string name = VisibleText(response.signal().name());
    absl::StrAppend(
        &words, " ",
        name.empty() ? absl::StrCat(response.signal().number()) : name);
  }
  return words;
}

// True if the outcome, its number and the time say everything that the sentence
// would.
bool IsSelfEvident(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_OK || outcome == v1::OUTCOME_NONZERO_EXIT ||
         outcome == v1::OUTCOME_SIGNALED;
}

absl::string_view KillerWords(const v1::RunCodeResponse& response) {
  switch (response.evidence().killed_by()) {
    case v1::KILLER_KERNEL_OOM:
      return "killed by the kernel's out-of-memory killer";
    case v1::KILLER_DAEMON:
      // An interrupt ends a cell only if the cell heeds it.
      return response.has_session() && !response.session().kernel_ended()
                 ? "interrupted by the daemon"
                 : "killed by the daemon";
    default:
      return "";
  }
}

std::string Reading(v1::LimitKind kind, uint64_t value) {
  switch (kind) {
    case v1::LIMIT_KIND_WALL_TIME:
    case v1::LIMIT_KIND_CPU_TIME:
      return FormatTimeSpan(absl::Nanoseconds(value));
    case v1::LIMIT_KIND_MEMORY:
    case v1::LIMIT_KIND_TMP_BYTES:
    case v1::LIMIT_KIND_WORKSPACE_BYTES:
    case v1::LIMIT_KIND_OUTPUT_BYTES:
    case v1::LIMIT_KIND_OUTPUT_TOTAL_BYTES:
    case v1::LIMIT_KIND_FILE_SIZE:
      return FormatByteSize(value);
    default:
      return absl::StrCat(value);
  }
}

}  // namespace

std::string LimitName(v1::LimitKind kind) {
  const std::string& name = v1::LimitKind_Name(kind);
  if (name.empty()) return absl::StrCat("limit ", static_cast<int>(kind));
  return absl::StrReplaceAll(
      absl::AsciiStrToLower(absl::StripPrefix(name, "LIMIT_KIND_")),
      {{"_", " "}});
}

std::string VerdictLine(const v1::RunCodeResponse& response, Colour colour) {
  const bool good = response.outcome() == v1::OUTCOME_OK;
  const v1::Evidence& evidence = response.evidence();
  std::string line = absl::StrCat(
      "sandglass: ", Coloured(OutcomeWords(response), good, colour));
  if (evidence.phase() != v1::PHASE_COMPILE &&
      evidence.phase() != v1::PHASE_ANALYSIS &&
      response.outcome() != v1::OUTCOME_COMPILE_ERROR) {
    absl::StrAppend(&line, " after ",
                    FormatTimeSpan(FromProto(response.usage().wall_time())));
    if (response.compile().cached()) {
      absl::StrAppend(&line, " (compiled before)");
    } else if (response.has_compile()) {
      absl::StrAppend(
          &line, " (compiled in ",
          FormatTimeSpan(FromProto(response.compile().usage().wall_time())),
          ")");
    }
  }
  if (IsSelfEvident(response.outcome())) {
    if (response.usage().peak_memory_bytes() > 0) {
      absl::StrAppend(&line, ", peak memory ",
                      FormatByteSize(response.usage().peak_memory_bytes()));
    }
  } else {
    const std::string why = VisibleText(evidence.explanation());
    if (!why.empty()) absl::StrAppend(&line, ": ", absl::StripSuffix(why, "."));
    const absl::string_view killer = KillerWords(response);
    // The daemon's sentence may already say so.
    if (!killer.empty() && !absl::StrContains(why, "killed")) {
      absl::StrAppend(&line, why.empty() ? ": " : "; ", killer);
    }
  }
  if (!response.run_id().empty()) {
    absl::StrAppend(&line, " (run ", VisibleText(response.run_id()), ")");
  }
  return line;
}

std::vector<std::string> NoteLines(const v1::RunCodeResponse& response) {
  std::vector<std::string> lines;
  if (response.replayed()) {
    lines.push_back(
        "sandglass: this is the answer of an earlier call with the same "
        "--request-id");
  }
  for (const v1::LimitReading& reading : response.evidence().limits_touched()) {
    std::string line =
        absl::StrCat("sandglass: limit touched: ", LimitName(reading.kind()));
    if (reading.configured() > 0) {
      absl::StrAppend(&line, " (",
                      Reading(reading.kind(), reading.configured()), ")");
    }
    lines.push_back(std::move(line));
  }
  const uint32_t left = response.evidence().leftover_processes();
  if (left > 0) {
    lines.push_back(absl::StrCat(
        "sandglass: ", left, left == 1 ? " process was" : " processes were",
        " left running at the program's end and killed"));
  }
  for (const v1::Hint& hint : response.hints()) {
    lines.push_back(
        absl::StrCat("sandglass: hint: ", VisibleText(hint.message())));
  }
  return lines;
}

std::vector<std::string> DetailLines(const v1::RunCodeResponse& response) {
  std::vector<std::string> lines;
  if (response.has_timings()) {
    const v1::PhaseTimings& timings = response.timings();
    std::string line = "sandglass: ";
    const auto add = [&](absl::string_view what,
                         const google::protobuf::Duration& time) {
      if (FromProto(time) <= absl::ZeroDuration()) return;
      absl::StrAppend(&line, what, " ", FormatTimeSpan(FromProto(time)), ", ");
    };
    add("queue", timings.queue());
    add("analysis", timings.analysis());
    add("compile", timings.compile());
    add(timings.warm() ? "jail (warm)" : "jail (new)", timings.acquire());
    add("files in", timings.stage_in());
    add("run", timings.run());
    add("drain", timings.drain());
    add("files out", timings.stage_out());
    lines.push_back(absl::StrCat(line, "total ",
                                 FormatTimeSpan(FromProto(timings.total()))));
  }
  if (!response.trace_id().empty()) {
    lines.push_back(
        absl::StrCat("sandglass: trace ", VisibleText(response.trace_id())));
  }
  return lines;
}

std::vector<std::string> LossLines(const v1::RunCodeResponse& response) {
  std::vector<std::string> lines;
  const uint32_t dropped = response.results_dropped();
  if (dropped > 0) {
    lines.push_back(absl::StrCat(
        "sandglass: ", dropped, dropped == 1 ? " result" : " results", " (",
        FormatByteSize(response.results_dropped_bytes()),
        ") had no room in the answer and ", dropped == 1 ? "is" : "are",
        " left out"));
  }
  const v1::RunSession& session = response.session();
  if (!session.state_lost().empty()) {
    const std::string why = VisibleText(session.state_lost());
    lines.push_back(absl::StrCat(
        "sandglass: this run began with an empty state, that of the runs "
        "before it is lost: ",
        absl::StripSuffix(why, ".")));
  }
  if (session.kernel_ended()) {
    lines.push_back(
        "sandglass: the kernel ended with this run; the next run begins with "
        "an empty state");
  }
  return lines;
}

std::string InterruptedLine(int signal, absl::Duration elapsed,
                            absl::string_view run_id, Colour colour) {
  std::string line = absl::StrCat(
      "sandglass: ", Coloured("CANCELLED", false, colour), " after ",
      FormatTimeSpan(elapsed), ": ",
      signal == SIGINT ? "Ctrl-C" : absl::StrCat("SIG", sigabbrev_np(signal)),
      " here; ");
  if (run_id.empty()) {
    absl::StrAppend(&line, "the call to the daemon was cancelled");
  } else {
    absl::StrAppend(&line, "the daemon was told to stop the run (run ",
                    VisibleText(run_id), ")");
  }
  return line;
}

}  // namespace sandglass::client
