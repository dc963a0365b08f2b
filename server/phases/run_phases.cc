#include "server/phases/run_phases.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/text/units.h"
#include "sandbox/os/clocks.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/job/inspection.h"
#include "server/job/job_builder.h"
#include "server/job/output_redaction.h"

namespace sandglass::server {
namespace {

// A program that gets less than this is not worth starting.
constexpr absl::Duration kMinRunTime = absl::Milliseconds(20);
// This is plenty for a program. It is bounded because a run's reservation
// doesn't count what the daemon itself holds.
constexpr uint64_t kMaxArtifactBytes = uint64_t{32} << 20;
constexpr absl::string_view kElf = "\x7f\x45LF";

absl::Status ApplyDeadline(std::optional<MonotonicTime> deadline,
                           policy::Limits& limits) {
  if (!deadline.has_value()) return absl::OkStatus();
  const absl::Duration left = Until(*deadline);
  const absl::Duration margin = DeadlineMargin(left);
  if (left < margin + kMinRunTime) {
    return DeadlineTooShort(left, margin + kMinRunTime);
  }
  limits.wall_time = std::min(limits.wall_time, left - margin);
  return absl::OkStatus();
}

// The compile phase as a job: the same files with another command.
Job ToCompileJob(const Job& job) {
  Job compile;
  static_cast<PhaseProgram&>(compile) = *job.compile;
  compile.run_id = job.run_id;
  compile.phase = policy::Phase::kCompile;
  compile.layer = job.layer;
  compile.source_file = job.source_file;
  compile.code = job.code;
  compile.files = job.files;
  compile.fetch = job.compile->artifacts;
  compile.taker = job.taker;
  compile.redactor = job.redactor;
  // The artifacts pass through the daemon's memory.
  compile.max_collected_bytes =
      std::min(compile.limits.workspace_bytes, kMaxArtifactBytes);
  return compile;
}

// Whether it is of one of the two kinds of files that the kernel can start.
bool CanBeExecuted(const FileResult& file) {
  return (file.mode & 0111) != 0 && (absl::StartsWith(file.content, kElf) ||
                                     absl::StartsWith(file.content, "#!"));
}

std::string WhyUnusable(const FileResult& file, const CompileJob& compile) {
  if (file.error == FileError::kNotFound) return "is not there";
  if (file.error != FileError::kTooLarge) return "can't be read";
  const uint64_t workspace = compile.limits.workspace_bytes;
  return absl::StrCat(
      "is too large (", policy::FormatBytes(file.size), "): ",
      workspace < kMaxArtifactBytes
          ? absl::StrCat("all that a compiler makes may have ",
                         policy::FormatBytes(workspace),
                         " (compile_limits.workspace_bytes)")
          : absl::StrCat("all that a compiler makes may have ",
                         policy::FormatBytes(kMaxArtifactBytes),
                         ", whatever the limits; make large data when the "
                         "program runs"));
}

// Finds the cases where a compiler says that all is well but leaves nothing,
// too much, or no program: Go, for example, makes a library of a package that
// isn't main.
void CheckArtifacts(const Job& job, const std::vector<FileResult>& files,
                    JobResult& result) {
  for (const FileResult& file : files) {
    std::string why;
    if (file.error != FileError::kNone) {
      why = WhyUnusable(file, *job.compile);
    } else if (job.argv.front() == absl::StrCat(kWorkspacePrefix, file.path) &&
               !CanBeExecuted(file)) {
      why =
          "is no program that can be started (it takes a main function, in Go "
          "one of package main)";
    } else {
      continue;
    }
    result.verdict.outcome = policy::Outcome::kCompileError;
    result.verdict.rule = "compile-artifact";
    result.verdict.explanation = absl::StrCat(
        "The compiler exited with 0, but ", Quoted(file.path), " ", why, ".");
  }
}

// The outcome of a compile phase, whether a compiler ran or not.
struct CompileEnd {
  JobResult result;  // without files
  std::shared_ptr<const Compiled> compiled;
};

absl::StatusOr<CompileEnd> Compile(JobRunner& runner, const Job& job,
                                   CancelToken& cancel) {
  absl::StatusOr<JobResult> result =
      runner.Run(ToCompileJob(job), cancel, nullptr);
  if (!result.ok()) return result.status();
  if (result->verdict.outcome == policy::Outcome::kOk) {
    CheckArtifacts(job, result->files, *result);
  }
  // The jail is dropped so that its memory is free for the run's jail.
  result->jail.reset();
  auto compiled = std::make_shared<Compiled>(
      Compiled{.files = std::exchange(result->files, {}),
               .stdout_result = result->stdout_result,
               .stderr_result = result->stderr_result});
  if (result->verdict.outcome == policy::Outcome::kOk) compiled->Seal();
  return CompileEnd{*std::move(result), std::move(compiled)};
}

// The outcome of a compile phase that needn't be run, because it is in the
// cache.
CompileEnd FromCache(const Job& job, std::shared_ptr<const Compiled> compiled) {
  JobResult result;
  result.cached = true;
  result.facts.phase = policy::Phase::kCompile;
  result.facts.wait_status = 0;
  result.verdict = policy::Decide(result.facts, job.compile->limits);
  // The wait status was that of another run.
  result.facts.wait_status.reset();
  result.verdict.explanation =
      "No compiler ran: an earlier compile of the same program was kept.";
  result.stdout_result = compiled->stdout_result;
  result.stderr_result = compiled->stderr_result;
  // The result may have been kept under the redaction rules of another profile,
  // or under older ones.
  for (StreamResult* stream : {&result.stdout_result, &result.stderr_result}) {
    RedactStream(job.redactor.get(), *stream, result.redactions);
  }
  CheckArtifacts(job, compiled->files, result);
  return {std::move(result), std::move(compiled)};
}

bool IsWorthKeeping(const JobResult& result) {
  return result.verdict.outcome == policy::Outcome::kOk &&
         result.verdict.exit_code == 0 &&
         result.facts.leftover_processes == 0 && !result.files_left_out;
}

// The compile phase, or what an earlier one made.
absl::StatusOr<CompileEnd> CompileOrFind(JobRunner& runner, Job& job,
                                         std::optional<MonotonicTime> deadline,
                                         CancelToken& cancel,
                                         CompileCache* cache) {
  std::optional<std::string> key;
  if (cache != nullptr) {
    key = cache->KeyOf(job);
    if (!key) cache->CountNotCacheable();
  }
  if (key) {
    std::shared_ptr<const Compiled> found = cache->Find(*key);
    Log(LogLevel::kDebug, "compile_cache_asked",
        {{"run_id", job.run_id},
         {"key", key->substr(0, 12)},
         {"hit", found != nullptr}});
    if (found != nullptr) return FromCache(job, std::move(found));
  }
  absl::Status enough = ApplyDeadline(deadline, job.compile->limits);
  if (!enough.ok()) return enough;
  absl::StatusOr<CompileEnd> end = Compile(runner, job, cancel);
  // The toolchain may have changed while it was at work: whatever it made, it
  // is not what this key, or the new one, stands for.
  if (key && end.ok() && IsWorthKeeping(end->result) &&
      cache->KeyOf(job) == key) {
    cache->Keep(*key, end->compiled);
  }
  return end;
}

// Hands what was compiled to the run.
void AddArtifacts(const std::shared_ptr<const Compiled>& compiled, Job& job) {
  for (size_t i = 0; i < compiled->files.size(); ++i) {
    const FileResult& artifact = compiled->files[i];
    // The analyser's facts are not for the program.
    if (LooksInCompiler(job) &&
        artifact.path == job.inspection->language->analyser->facts) {
      continue;
    }
    job.files.push_back({.path = artifact.path,
                         .executable = (artifact.mode & 0111) != 0,
                         .shared = {compiled, &artifact.content},
                         .sealed = i < compiled->sealed.size()
                                       ? compiled->sealed[i]
                                       : nullptr});
  }
}

// The answer when nothing was run.
JobResult NotRun(const Job& job, std::shared_ptr<const JobResult> compile) {
  JobResult result;
  result.verdict = compile->verdict;
  // These would be the program's, and no program ran.
  result.verdict.exit_code.reset();
  result.verdict.signal.reset();
  result.facts.phase = policy::Phase::kCompile;
  result.facts.kill = compile->facts.kill;
  result.facts.wait_status = compile->facts.wait_status;
  result.facts.counters = compile->facts.counters;
  result.facts.runtime_words = compile->facts.runtime_words;
  result.facts.leftover_processes = compile->facts.leftover_processes;
  result.limits = job.limits;
  result.start_time = compile->start_time;
  result.compile = std::move(compile);
  return result;
}

// Returns what an analyser in a jail of its own said about the program, or an
// error that says why it said nothing.
absl::StatusOr<std::string> Said(JobResult&& look) {
  if (look.verdict.outcome != policy::Outcome::kOk) {
    const std::string_view words = look.stderr_result.data;
    const std::string_view line = words.substr(0, words.find('\n'));
    std::string why = look.verdict.explanation;
    if (absl::EndsWith(why, ".")) why.pop_back();
    if (!line.empty()) absl::StrAppend(&why, ", and said ", Quoted(line, 200));
    return absl::InvalidArgumentError(why);
  }
  if (look.stdout_result.truncated) {
    return absl::InvalidArgumentError("the analyser said too much");
  }
  return std::move(look.stdout_result.data);
}

using SharedInspected = std::shared_ptr<const Inspected>;

SharedInspected Judge(const Job& job, const absl::StatusOr<std::string>& said) {
  return std::make_shared<const Inspected>(Inspect(job, said));
}

// Errors are ours or the caller's, as of any run.
absl::StatusOr<SharedInspected> LookApart(JobRunner& runner, const Job& job,
                                          std::optional<MonotonicTime> deadline,
                                          CancelToken& cancel) {
  if (!NeedsAnalyser(job)) return Judge(job, std::string());
  if (job.inspection->language->analyser->command.empty()) {
    return Judge(job,
                 absl::UnimplementedError(
                     "the compiler alone can do that, and a cell has none"));
  }
  const MonotonicTime began = Now();
  Job look = MakeLookJob(job);
  absl::Status enough = ApplyDeadline(deadline, look.limits);
  if (!enough.ok()) return enough;
  absl::StatusOr<JobResult> looked = runner.Run(look, cancel, nullptr);
  if (!looked.ok()) return looked.status();
  if (cancel.reason().has_value()) {
    return absl::CancelledError("cancelled before the program started");
  }
  Inspected inspected = Inspect(job, Said(*std::move(looked)));
  inspected.time = Since(began);
  return std::make_shared<const Inspected>(std::move(inspected));
}

// The facts that a compiler left for the rules.
absl::StatusOr<std::string> SaidByCompiler(const Compiled& compiled,
                                           const Job& job) {
  const auto facts = std::ranges::find(
      compiled.files, job.inspection->language->analyser->facts,
      &FileResult::path);
  if (facts != compiled.files.end()) return facts->content;
  return absl::InvalidArgumentError("its compiler told nothing of it");
}

// The answer when the program was not allowed to run, or was only to be
// inspected.
JobResult NotLetRun(const Job& job, SharedInspected inspected) {
  JobResult result;
  result.limits = job.limits;
  result.start_time = os::WallNow();
  if (inspected == nullptr) inspected = std::make_shared<const Inspected>();
  result.facts = StoppedFacts(*inspected);
  result.verdict = policy::Decide(result.facts, job.limits);
  if (inspected->decision == Decision::kRun) {
    result.verdict.outcome = policy::Outcome::kOk;
    result.verdict.rule = "policy-passed";
    result.verdict.explanation = "The profile's rules let this program run.";
  }
  result.timings.analysis = inspected->time;
  if (SessionPlaceOf(job.target) != nullptr) result.cell.emplace();
  result.inspected = std::move(inspected);
  return result;
}

JobResult WithLook(JobResult result, SharedInspected inspected) {
  if (inspected != nullptr) {
    result.timings.analysis = inspected->time;
    result.inspected = std::move(inspected);
  }
  return result;
}

}  // namespace

absl::Duration DeadlineMargin(absl::Duration left) {
  return std::clamp(left / 10, absl::Milliseconds(100), absl::Seconds(1));
}

absl::StatusOr<JobResult> RunPhases(JobRunner& runner, Job& job,
                                    std::optional<MonotonicTime> deadline,
                                    CancelToken& cancel, RunListener* listener,
                                    CompileCache* cache) {
  SharedInspected inspected;
  if (IsLookAlone(job.target) && job.inspection == nullptr) {
    return NotLetRun(job, {});
  }
  if (job.inspection != nullptr && !LooksInRunner(job) &&
      !LooksInCompiler(job)) {
    absl::StatusOr<SharedInspected> looked =
        LookApart(runner, job, deadline, cancel);
    if (!looked.ok()) return looked.status();
    inspected = *std::move(looked);
    if (inspected->decision != Decision::kRun || IsLookAlone(job.target)) {
      return NotLetRun(job, inspected);
    }
  }
  std::shared_ptr<JobResult> compile;
  const MonotonicTime began = Now();
  if (job.compile) {
    absl::StatusOr<CompileEnd> end =
        CompileOrFind(runner, job, deadline, cancel, cache);
    if (!end.ok()) return end.status();
    compile = std::make_shared<JobResult>(std::move(end->result));
    if (listener != nullptr) listener->OnCompiled(*compile);
    if (compile->verdict.outcome != policy::Outcome::kOk) {
      JobResult result = NotRun(job, compile);
      result.timings.compile = Since(began);
      if (SessionPlaceOf(job.target) != nullptr) result.cell.emplace();
      return WithLook(std::move(result), std::move(inspected));
    }
    if (LooksInCompiler(job)) {
      inspected = Judge(job, SaidByCompiler(*end->compiled, job));
      if (inspected->decision != Decision::kRun || IsLookAlone(job.target)) {
        JobResult result = NotLetRun(job, inspected);
        result.compile = std::move(compile);
        result.timings.compile = Since(began);
        return result;
      }
    }
    AddArtifacts(end->compiled, job);
  }
  const absl::Duration compile_time =
      compile == nullptr ? absl::ZeroDuration() : Since(began);
  if (inspected != nullptr && inspected->findings.syntax_error &&
      compile != nullptr) {
    // The analyser found a syntax error in a text that the compiler accepts, so
    // nothing was really inspected.
    inspected = Judge(job, absl::InvalidArgumentError(
                               "its compiler takes what the analyser can't"));
    if (inspected->decision != Decision::kRun) return NotLetRun(job, inspected);
  }
  absl::Status enough = ApplyDeadline(deadline, job.limits);
  if (!enough.ok()) return enough;
  absl::StatusOr<JobResult> result = runner.Run(job, cancel, listener);
  if (result.ok() && result->not_looked_at) {
    // Either no runner was there to look at it, or it says why it did not.
    const std::string& why = *result->not_looked_at;
    absl::StatusOr<SharedInspected> looked =
        why.empty() ? LookApart(runner, job, deadline, cancel)
                    : Judge(job, absl::InvalidArgumentError(why));
    if (!looked.ok()) return looked.status();
    inspected = *std::move(looked);
    if (inspected->decision != Decision::kRun) return NotLetRun(job, inspected);
    job.inspection.reset();
    result = runner.Run(job, cancel, listener);
  }
  if (!result.ok()) return result;
  result->compile = std::move(compile);
  result->timings.compile = compile_time;
  return WithLook(*std::move(result), std::move(inspected));
}

}  // namespace sandglass::server
