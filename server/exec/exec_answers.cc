#include "server/exec/exec_answers.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/status.h"
#include "server/base/errors.h"
#include "server/base/limits_proto.h"
#include "server/base/log.h"
#include "server/base/proto_time.h"
#include "server/base/strings.h"
#include "server/job/job.h"
#include "server/run/run_response.h"

namespace sandglass::server {
namespace {

// Bounds for the arguments that are shown, so that a list of many commands fits
// into a message.
constexpr size_t kMaxShownArgs = 32;
constexpr size_t kMaxShownBytes = 1024;
constexpr absl::Duration kRetryAnswerAfter = absl::Seconds(1);

}  // namespace

v1::ExecEnd MakeExecEnd(const policy::RunFacts& facts,
                        const policy::Limits& limits,
                        const sandbox::GroupCpu& cpu,
                        const policy::RedactionCounts& redacted,
                        policy::HintFacts hints) {
  JobResult result;
  result.facts = facts;
  result.limits = limits;
  result.cpu_user = cpu.user;
  result.cpu_system = cpu.system;
  result.verdict = policy::Decide(facts, limits);
  policy::TakeVerdict(result.verdict, hints);
  v1::PhaseResult phase = MakePhaseResult(result);
  v1::ExecEnd end;
  end.set_outcome(phase.outcome());
  if (phase.has_exit_code()) end.set_exit_code(phase.exit_code());
  if (phase.has_signal()) *end.mutable_signal() = phase.signal();
  *end.mutable_evidence() = std::move(*phase.mutable_evidence());
  *end.mutable_usage() = std::move(*phase.mutable_usage());
  end.set_stdout_bytes(facts.stdout_bytes);
  end.set_stderr_bytes(facts.stderr_bytes);
  for (const auto& [name, count] : redacted) {
    v1::Redaction& redaction = *end.add_redactions();
    redaction.set_name(name);
    redaction.set_count(count);
  }
  for (policy::Hint& hint : policy::MakeHints(hints)) {
    *end.add_hints() = ToProto(std::move(hint));
  }
  return end;
}

void LogExecEnd(const std::string& session_id, const std::string& exec_id,
                const v1::ExecEnd& end) {
  Log(LogLevel::kInfo, "exec_end",
      {{"session_id", session_id},
       {"exec_id", exec_id},
       {"outcome", std::string(policy::OutcomeName(
                       static_cast<policy::Outcome>(end.outcome())))},
       {"rule", end.evidence().rule()},
       {"trace_id", end.trace_id(), true}});
}

void KeepForShow(ExecPlan& plan) {
  std::string().swap(plan.stdin_data);
  std::vector<std::string>().swap(plan.process.env);
  std::vector<std::string>& argv = plan.process.argv;
  if (argv.size() > kMaxShownArgs) {
    argv.resize(kMaxShownArgs);
    argv.emplace_back("…");
  }
  for (std::string& argument : argv) {
    if (argument.size() <= kMaxShownBytes) continue;
    argument.resize(WholeCharacters(argument, kMaxShownBytes));
    argument += "…";
  }
}

v1::ExecInfo InfoOf(const ExecPlan& plan) {
  v1::ExecInfo info;
  info.set_exec_id(plan.exec_id);
  info.mutable_argv()->Assign(plan.process.argv.begin(),
                              plan.process.argv.end());
  info.set_directory(plan.process.directory);
  info.set_has_terminal(plan.on_terminal());
  *info.mutable_limits() = ToProto(plan.limits);
  if (plan.limits.wall_time == absl::InfiniteDuration()) {
    info.mutable_limits()->clear_wall_time();
  }
  if (plan.limits.cpu_time == absl::InfiniteDuration()) {
    info.mutable_limits()->clear_cpu_time();
  }
  if (plan.limits.output_total_bytes == kNoByteLimit) {
    info.mutable_limits()->clear_output_total_bytes();
  }
  return info;
}

void FillOutput(const ExecOutput::Piece& piece, v1::ExecOutput& proto) {
  proto.set_sequence(piece.sequence);
  proto.set_stream(static_cast<v1::OutputStream>(piece.stream));
  proto.set_data(piece.data);
  proto.set_offset(piece.offset);
  *proto.mutable_since_start() = ToProto(piece.since_start);
}

void FillGap(const ExecOutput::Gap& gap, v1::ExecGap& proto) {
  proto.set_next_sequence(gap.next_sequence);
  proto.set_stdout_bytes(gap.missing.stdout_bytes);
  proto.set_stderr_bytes(gap.missing.stderr_bytes);
}

absl::Status StartFailure(const sandbox::SpawnFailedEvent& event,
                          const ExecPlan& plan) {
  using absl::StatusCode;
  const std::string why = os::ErrorText(event.error);
  if (!event.IsCallersMistake()) {
    const bool no_terminal = event.step == sandbox::SetupStep::kMakePipes &&
                             plan.on_terminal() && event.error == ENOSPC;
    return TooManyExecs(
        no_terminal
            ? "all of the session's terminals are in use"
            : absl::StrCat("the session has no room for another process (",
                           sandbox::SetupStepName(static_cast<int>(event.step)),
                           ": ", why, ")"),
        kRetryAnswerAfter);
  }
  if (event.step == sandbox::SetupStep::kEnterDirectory) {
    const std::string directory = Quoted(plan.process.directory);
    if (event.error == EACCES || event.error == ELOOP) {
      return ExecNotStarted(
          StatusCode::kFailedPrecondition, "DIRECTORY_NOT_ACCESSIBLE",
          absl::StrCat("directory ", directory, " can't be entered: ",
                       event.error == EACCES
                           ? why
                           : "a link on the way leads through /proc to what a "
                             "process has open, or to itself"));
    }
    return ExecNotStarted(
        StatusCode::kNotFound, "DIRECTORY_NOT_FOUND",
        absl::StrCat("there is no directory ", directory, ": ", why));
  }
  const std::string& name = plan.process.argv[0];
  const std::string program = Quoted(name);
  if (event.error == ENOENT || event.error == ENOTDIR) {
    return ExecNotStarted(
        StatusCode::kNotFound, "PROGRAM_NOT_FOUND",
        name.find('/') == std::string::npos
            ? absl::StrCat("no directory of PATH has a program ", program)
            : absl::StrCat("there is no program ", program,
                           ", or not what its first line or its loader names"));
  }
  return ExecNotStarted(
      StatusCode::kFailedPrecondition, "PROGRAM_NOT_EXECUTABLE",
      absl::StrCat(program, " can't be run: ", why,
                   event.error == ENOEXEC
                       ? "; a script begins with #! and its interpreter"
                       : ""));
}

}  // namespace sandglass::server
