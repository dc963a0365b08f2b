#include "server/run/run_response.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/libraries/missing_import.h"
#include "policy/text/utf8.h"
#include "policy/verdict/hints.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/clocks.h"
#include "sandbox/wire/setup_step.h"
#include "server/base/limits_proto.h"
#include "server/base/proto_time.h"
#include "server/job/inspection.h"
#include "server/job/jail_network.h"
#include "server/session/session.h"

namespace sandglass::server {
namespace {

v1::LimitReading Reading(const policy::LimitReading& reading) {
  v1::LimitReading proto;
  proto.set_kind(static_cast<v1::LimitKind>(reading.kind));
  proto.set_configured(reading.configured);
  proto.set_measured(reading.measured);
  return proto;
}

void FillOutput(StreamResult result, v1::Output& proto) {
  proto.set_data(std::move(result.data));
  proto.set_truncated(result.truncated);
  proto.set_total_bytes(result.total_bytes);
  proto.set_head_bytes(result.head_bytes);
}

void FillFiles(std::vector<FileResult>&& files, v1::RunCodeResponse& proto) {
  for (FileResult& file : files) {
    v1::OutputFile& out = *proto.add_files();
    out.set_path(std::move(file.path));
    out.set_content(std::move(file.content));
    out.set_mode(file.mode);
    out.set_size(file.size);
    out.set_error(static_cast<v1::FileError>(file.error));
  }
}

// `proto` is the answer to a run, or one phase of it.
template <typename Proto>
void FillEnd(const policy::Verdict& verdict, Proto& proto) {
  proto.set_outcome(static_cast<v1::Outcome>(verdict.outcome));
  if (verdict.exit_code.has_value()) proto.set_exit_code(*verdict.exit_code);
  if (verdict.signal.has_value()) {
    proto.mutable_signal()->set_number(*verdict.signal);
    proto.mutable_signal()->set_name(policy::SignalName(*verdict.signal));
  }
}

enum class Ran { kYes, kNot };

void FillEvidence(const policy::Verdict& verdict, const policy::RunFacts& facts,
                  Ran how, v1::Evidence& proto) {
  proto.set_rule(verdict.rule);
  proto.set_explanation(verdict.explanation);
  if (verdict.limit.has_value()) {
    *proto.mutable_limit() = Reading(*verdict.limit);
  }
  for (const policy::LimitReading& reading : verdict.limits_touched) {
    *proto.add_limits_touched() = Reading(reading);
  }
  proto.set_phase(static_cast<v1::Phase>(facts.phase));
  if (how == Ran::kNot) return;
  v1::KernelCounters& counters = *proto.mutable_counters();
  counters.set_oom_kills(facts.counters.oom_kills);
  counters.set_memory_limit_hits(facts.counters.memory_limit_hits);
  counters.set_pids_limit_hits(facts.counters.pids_limit_hits);
  counters.set_cpu_throttled_periods(facts.counters.cpu_throttled_periods);
  *counters.mutable_cpu_throttled_time() =
      ToProto(facts.counters.cpu_throttled_time);
  proto.set_killed_by(static_cast<v1::Killer>(verdict.killed_by));
  if (verdict.killed_after.has_value()) {
    *proto.mutable_killed_after() = ToProto(*verdict.killed_after);
  }
  if (facts.wait_status.has_value()) {
    proto.set_wait_status(*facts.wait_status);
  }
  proto.set_leftover_processes(facts.leftover_processes);
  if (verdict.rule == "runtime-memory") {
    proto.set_runtime_words(facts.runtime_words);
  }
}

void FillUsage(const JobResult& result, v1::Usage& proto) {
  *proto.mutable_wall_time() = ToProto(result.facts.wall_time);
  *proto.mutable_cpu_user_time() = ToProto(result.cpu_user);
  *proto.mutable_cpu_system_time() = ToProto(result.cpu_system);
  proto.set_peak_memory_bytes(result.facts.peak_memory_bytes);
  proto.set_peak_anonymous_bytes(result.peak_anonymous_bytes);
  proto.set_peak_shared_bytes(result.peak_shared_bytes);
  proto.set_peak_processes(result.facts.peak_processes);
}

void FillTimings(const Timings& timings, absl::Duration queued,
                 absl::Duration total, v1::PhaseTimings& proto) {
  *proto.mutable_queue() = ToProto(queued);
  *proto.mutable_acquire() = ToProto(timings.acquire);
  *proto.mutable_stage_in() = ToProto(timings.stage_in);
  *proto.mutable_analysis() = ToProto(timings.analysis);
  *proto.mutable_compile() = ToProto(timings.compile);
  *proto.mutable_run() = ToProto(timings.run);
  *proto.mutable_drain() = ToProto(timings.drain);
  *proto.mutable_stage_out() = ToProto(timings.stage_out);
  *proto.mutable_total() = ToProto(total);
  proto.set_warm(timings.warm);
  proto.set_kind(timings.kind);
  for (const sandbox::StepTiming& step : timings.setup_steps) {
    v1::StepTiming& out = *proto.add_setup_steps();
    out.set_step(
        std::string(sandbox::SetupStepName(static_cast<int>(step.step))));
    *out.mutable_duration() = ToProto(step.duration);
  }
}

// The texts in which a program says what went wrong. What ended a cell stands
// last.
std::string WordsOfFailure(const JobResult& result, bool compiling) {
  if (compiling) return result.compile->stderr_result.data;
  std::string words = result.stderr_result.data;
  if (result.cell.has_value() && result.cell->error.has_value()) {
    absl::StrAppend(&words, "\n", result.cell->error->traceback);
  }
  return words;
}

// How many files and directories the program left in its /workspace beside
// those that it was given. 0 where that isn't known.
uint64_t FilesLost(const Job& job, const JobResult& result) {
  if (!job.fetch.empty() || job.compile.has_value()) return 0;
  std::set<std::string> given = {job.source_file};
  for (const Job::File& file : job.files) {
    for (std::string path = file.path; !path.empty();) {
      given.insert(path);
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  for (const policy::FilesystemFill& fill : result.facts.filesystems) {
    if (fill.bytes_kind != policy::LimitKind::kWorkspaceBytes) continue;
    const uint64_t used = fill.total_inodes - fill.free_inodes;
    const uint64_t before = given.size() + 1;  // with /workspace itself
    return used > before ? used - before : 0;
  }
  return 0;
}

void FillCell(const Run& run, const CellResult& cell,
              v1::RunCodeResponse& proto) {
  for (const RichOutput& output : cell.outputs) {
    *proto.add_results() = ToProto(output);
  }
  proto.set_results_dropped(cell.dropped);
  proto.set_results_dropped_bytes(cell.dropped_bytes);
  if (cell.error.has_value()) {
    proto.mutable_error()->set_name(cell.error->name);
    proto.mutable_error()->set_value(cell.error->value);
    proto.mutable_error()->set_traceback(cell.error->traceback);
  }
  const std::shared_ptr<Session>& session = run.origin().session;
  if (session == nullptr) return;
  v1::RunSession& out = *proto.mutable_session();
  out.set_session_id(session->id());
  out.set_context(run.context());
  out.set_run_number(cell.run_number);
  out.set_kernel_ended(cell.kernel_ended);
  out.set_state_lost(cell.state_lost);
  out.set_files_not_saved(cell.files_not_saved);
  *out.mutable_expire_time() = ToProto(session->expire_time());
}

// Removes the largest result; returns false when there is none.
bool DropLargestResult(v1::RunCodeResponse& response) {
  auto& results = *response.mutable_results();
  const auto largest =
      std::ranges::max_element(results, {}, &v1::RichResult::ByteSizeLong);
  if (largest == results.end()) return false;
  response.set_results_dropped(response.results_dropped() + 1);
  response.set_results_dropped_bytes(response.results_dropped_bytes() +
                                     largest->ByteSizeLong());
  results.erase(largest);
  return true;
}

// Keeps the first and the last part of the output.
void CutMiddle(v1::Output& output, uint64_t max_bytes) {
  std::string& data = *output.mutable_data();
  if (data.size() <= max_bytes) return;
  // Neither part may reach across a cut that is already there.
  const uint64_t old_head =
      output.truncated() ? output.head_bytes() : data.size();
  const uint64_t old_tail =
      output.truncated() ? data.size() - old_head : data.size();
  uint64_t head = std::min(max_bytes / 2, old_head);
  uint64_t tail = std::min(max_bytes - max_bytes / 2, old_tail);
  // No character is left in part.
  const std::string_view all = data;
  head -= policy::CutCharacterAtEnd(all.substr(0, head));
  tail -= policy::CutCharacterAtStart(all.substr(all.size() - tail));
  data.erase(head, data.size() - tail - head);
  output.set_truncated(true);
  output.set_head_bytes(head);
}

void AddHints(const Run& run, const JobResult& result, bool compiling,
              v1::RunCodeResponse& response) {
  const Job& job = run.job();
  const std::string words = WordsOfFailure(result, compiling);
  policy::HintFacts facts = {
      .stderr_tail = words,
      .stdin_given = !job.stdin_data.empty(),
      .output_truncated =
          result.stdout_result.truncated || result.stderr_result.truncated,
      .files_left_out = result.files_left_out,
      .compiling = compiling,
      .has_network = job.has_network,
      .libraries = job.library_offer};
  policy::TakeVerdict(result.verdict, facts);
  if (!compiling) facts.stdout_tail = result.stdout_result.data;
  if (std::holds_alternative<OwnJail>(job.target) && !compiling) {
    facts.language = run.origin().language;
    facts.source = job.code;
    facts.fetches = !job.fetch.empty();
    facts.files_lost = FilesLost(job, result);
  }
  std::optional<policy::MissingImport> missing;
  if (job.can_want && (facts.outcome == policy::Outcome::kNonzeroExit ||
                       facts.outcome == policy::Outcome::kCompileError)) {
    missing = policy::FindMissingImport(*job.can_want, words);
  }
  for (policy::Hint& hint : policy::MakeHints(facts)) {
    // That hint would say that libraries can't be had, but this run can ask for
    // them.
    if (missing && hint.id == "missing-module") continue;
    *response.add_hints() = ToProto(std::move(hint));
  }
  if (missing) {
    *response.add_hints() =
        ToProto({"missing-library",
                 policy::MissingImportWords(*job.can_want, *missing)});
  }
}

}  // namespace

v1::Hint ToProto(policy::Hint hint) {
  v1::Hint proto;
  proto.set_id(std::move(hint.id));
  proto.set_message(std::move(hint.message));
  return proto;
}

v1::LibrariesUsed ToProto(const UsedLibraries& libraries) {
  v1::LibrariesUsed proto;
  proto.set_layer_id(libraries.layer_id);
  proto.mutable_libraries()->Assign(libraries.names.begin(),
                                    libraries.names.end());
  proto.set_installed(libraries.installed);
  *proto.mutable_wait() = ToProto(libraries.wait);
  return proto;
}

v1::RichResult ToProto(const RichOutput& output) {
  v1::RichResult proto;
  proto.set_is_value(output.is_value);
  proto.set_stdout_offset(output.stdout_offset);
  proto.set_stderr_offset(output.stderr_offset);
  for (const auto& [type, data] : output.data) {
    v1::MimeData& out = *proto.add_data();
    out.set_mime_type(type);
    out.set_data(data);
  }
  return proto;
}

void AddFindings(const Inspected& inspected,
                 google::protobuf::RepeatedPtrField<v1::Finding>& proto) {
  for (const policy::Finding& finding : inspected.findings.list) {
    v1::Finding& out = *proto.Add();
    out.set_rule_id(finding.rule);
    out.set_severity(static_cast<v1::Severity>(finding.severity));
    out.set_message(finding.message);
    out.set_subject(finding.subject);
    out.set_line(finding.line);
    out.set_column(finding.column);
    out.set_count(finding.count);
    if (finding.line > 0 && finding.file < inspected.sources.size()) {
      out.set_path(inspected.sources[finding.file]);
    }
  }
}

v1::PhaseResult MakePhaseResult(const JobResult& compile) {
  v1::PhaseResult phase;
  const policy::Verdict& verdict = compile.verdict;
  FillEnd(verdict, phase);
  FillOutput(compile.stdout_result, *phase.mutable_stdout());
  FillOutput(compile.stderr_result, *phase.mutable_stderr());
  phase.set_cached(compile.cached);
  FillEvidence(verdict, compile.facts, compile.cached ? Ran::kNot : Ran::kYes,
               *phase.mutable_evidence());
  if (compile.cached) return phase;
  FillUsage(compile, *phase.mutable_usage());
  *phase.mutable_limits() = ToProto(compile.limits);
  return phase;
}

void FitPhase(v1::PhaseResult& phase) {
  constexpr uint64_t kMaxBytes = uint64_t{256} << 10;
  CutMiddle(*phase.mutable_stdout(), kMaxBytes);
  CutMiddle(*phase.mutable_stderr(), kMaxBytes);
}

v1::RunCodeResponse MakeResponse(const Run& run, JobResult&& result,
                                 absl::Duration queued, absl::Duration total) {
  const policy::Verdict& verdict = result.verdict;
  v1::RunCodeResponse response;
  response.set_run_id(run.id());
  response.set_trace_id(run.origin().caller.trace_id);
  FillEnd(verdict, response);
  const bool ran = !result.facts.policy_stop.has_value();
  FillEvidence(verdict, result.facts, ran ? Ran::kYes : Ran::kNot,
               *response.mutable_evidence());
  if (ran) FillUsage(result, *response.mutable_usage());
  if (result.inspected != nullptr) {
    AddFindings(*result.inspected, *response.mutable_findings());
    response.set_findings_dropped(result.inspected->findings.dropped);
    if (const auto& approved = result.inspected->approved) {
      response.mutable_approved()->set_approval_id(approved->approval_id);
      response.mutable_approved()->set_approver(approved->approver);
      response.mutable_approved()->set_for_session(approved->for_session);
    }
  }
  FillTimings(result.timings, queued, total, *response.mutable_timings());
  response.set_language(run.origin().language);
  response.set_profile(run.origin().profile);
  *response.mutable_limits() = ToProto(result.limits);
  *response.mutable_start_time() = ToProto(result.start_time);
  if (result.compile != nullptr) {
    *response.mutable_compile() = MakePhaseResult(*result.compile);
  }
  const bool compiling = result.compile != nullptr &&
                         result.facts.phase == policy::Phase::kCompile;
  AddHints(run, result, compiling, response);
  if (result.libraries) {
    *response.mutable_libraries() = ToProto(*result.libraries);
  }
  for (const auto& [name, count] : result.redactions) {
    v1::Redaction& redaction = *response.add_redactions();
    redaction.set_name(name);
    redaction.set_count(count);
  }
  if (result.network) FillNetwork(*result.network, *response.mutable_network());
  if (result.cell.has_value()) FillCell(run, *result.cell, response);
  FillFiles(std::move(result.files), response);
  FillOutput(std::move(result.stdout_result), *response.mutable_stdout());
  FillOutput(std::move(result.stderr_result), *response.mutable_stderr());
  return response;
}

v1::RunCodeResponse MakeNeverStartedResponse(const Run& run,
                                             absl::Duration queued,
                                             policy::KillReason why) {
  JobResult result;
  result.limits = run.job().limits;
  result.start_time = os::WallNow();
  result.facts.kill = policy::Kill{.reason = why};
  result.verdict = policy::Decide(result.facts, result.limits);
  result.verdict.explanation =
      why == policy::KillReason::kSessionEnded
          ? "the run's session ended before the program started"
          : "cancelled before the program started";
  return MakeResponse(run, std::move(result), queued, queued);
}

void FitResponse(v1::RunCodeResponse& response, uint64_t max_bytes) {
  while (response.ByteSizeLong() > max_bytes) {
    auto& files = *response.mutable_files();
    const auto largest = std::ranges::max_element(
        files, {}, [](const auto& file) { return file.content().size(); });
    if (largest == files.end() || largest->content().empty()) break;
    largest->clear_content();
    largest->set_error(v1::FILE_ERROR_TOO_LARGE);
  }
  while (response.ByteSizeLong() > max_bytes && DropLargestResult(response)) {
  }
  const uint64_t size = response.ByteSizeLong();
  if (size <= max_bytes) return;
  std::vector<v1::Output*> outputs = {response.mutable_stdout(),
                                      response.mutable_stderr()};
  if (response.has_compile()) {
    outputs.push_back(response.mutable_compile()->mutable_stdout());
    outputs.push_back(response.mutable_compile()->mutable_stderr());
  }
  uint64_t rest = size;
  for (const v1::Output* output : outputs) rest -= output->data().size();
  const uint64_t room = max_bytes - std::min(max_bytes, rest);
  for (v1::Output* output : outputs) CutMiddle(*output, room / outputs.size());
}

}  // namespace sandglass::server
