#include "server/languages/canary.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/yard/spawner_event.h"
#include "sandglass/v1/run.pb.h"
#include "server/base/poll_until.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/job/refused_calls.h"
#include "server/job/run_id.h"
#include "server/phases/run_phases.h"

namespace sandglass::server {
namespace {

// Generous, since a machine under load must not look like a filter that breaks
// runtimes.
constexpr absl::Duration kMinTime = absl::Minutes(1);
constexpr uint64_t kMinOutput = 64 * 1024;
constexpr size_t kMaxQuotedBytes = 300;
constexpr int kMaxFailures = 2;
// So many times in a row, with pauses in between. If a jail lacks memory of the
// machine, that may become free; if its profile's own limit leaves no room, it
// never does.
constexpr int kMaxWantsOfMemory = 3;
constexpr absl::Duration kPauseForMemory = absl::Milliseconds(500);

bool HasImageOf(const policy::Profile& profile,
                const policy::Language& language) {
  return profile.image ==
         (language.image.empty() ? policy::kHostImage : language.image);
}

bool HasStartedOnes(const policy::Language& language) {
  return language.prestart.has_value() ||
         (language.compile && language.compile->prestart) ||
         (language.zygote && !language.zygote->kinds.empty());
}

policy::Limits LimitsOf(const policy::Profile& profile,
                        const policy::LimitFloors& floors) {
  policy::Limits limits = profile.limits;
  policy::RaiseTo(floors, limits);
  limits.wall_time = std::max(limits.wall_time, kMinTime);
  limits.cpu_time = std::max(limits.cpu_time, kMinTime);
  limits.output_bytes = std::max(limits.output_bytes, kMinOutput);
  limits.output_total_bytes = std::max(limits.output_total_bytes, kMinOutput);
  return limits;
}

Job MakeCanaryJob(const CanaryRun& canary) {
  const policy::Language& language = *canary.language;
  PhaseLimits limits = {.run = LimitsOf(*canary.profile, language.limits)};
  if (language.compile) {
    limits.compile = LimitsOf(*canary.profile, language.compile->limits);
  }
  v1::RunCodeRequest request;
  request.set_language(language.id);
  request.set_code(language.canary->code);
  Job job = MakeJob(language, canary.profile, limits, std::move(request));
  job.run_id = NewRunId();
  if (canary.fresh) {
    job.zygote.clear();
    job.prestart.clear();
    if (job.compile) job.compile->prestart.clear();
  }
  return job;
}

// Compilers begin with what is wrong, and interpreters end with it.
std::string QuoteEnds(const std::string& text) {
  if (text.size() <= kMaxQuotedBytes) return Quoted(text, kMaxQuotedBytes);
  constexpr size_t kEach = kMaxQuotedBytes / 2;
  return absl::StrCat(Quoted(text, kEach), " ",
                      Quoted(text.substr(text.size() - kEach), kEach));
}

std::string Describe(const JobResult& result) {
  const JobResult& failed =
      result.compile != nullptr &&
              result.compile->verdict.outcome != policy::Outcome::kOk
          ? *result.compile
          : result;
  std::string text = absl::StrCat(
      &failed == &result ? "" : "its compiler ",
      AbslView(policy::OutcomeName(failed.verdict.outcome)), " (",
      failed.verdict.explanation,
      "), stdout: ", Quoted(failed.stdout_result.data, kMaxQuotedBytes));
  if (!failed.stderr_result.data.empty()) {
    absl::StrAppend(&text, ", stderr: ", QuoteEnds(failed.stderr_result.data));
  }
  if (!failed.refused.calls.empty()) {
    absl::StrAppend(&text, ", refused calls: ", DescribeCalls(failed.refused));
  }
  return text;
}

// Whether the error says nothing about the language.
bool CouldNotBeTried(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsUnavailable(status) ||
         absl::IsResourceExhausted(status);
}

// What went wrong; empty: nothing did.
absl::StatusOr<std::string> Try(const CanaryRun& canary, JobRunner& runner,
                                CancelToken& cancel) {
  Job job = MakeCanaryJob(canary);
  const absl::StatusOr<JobResult> result =
      RunPhases(runner, job, std::nullopt, cancel, nullptr);
  if (!result.ok() && CouldNotBeTried(result.status())) return result.status();
  if (cancel.reason().has_value()) return absl::CancelledError("shutting down");
  if (!result.ok()) return std::string(result.status().message());
  if (result->verdict.outcome == policy::Outcome::kOk &&
      result->verdict.exit_code == 0 &&
      result->stdout_result.data == canary.language->canary->output) {
    return std::string();
  }
  return Describe(*result);
}

// As Try, but what goes wrong goes wrong again: it may have been the machine.
absl::StatusOr<std::string> TryAgain(const CanaryRun& canary, JobRunner& runner,
                                     CancelToken& cancel) {
  int failures = 0;
  int wants = 0;
  while (true) {
    absl::StatusOr<std::string> wrong = Try(canary, runner, cancel);
    if (wrong.ok()) {
      wants = 0;
      if (wrong->empty() || ++failures == kMaxFailures) return wrong;
      continue;
    }
    if (!sandbox::IsWantOfMemory(wrong.status())) return wrong;
    if (++wants == kMaxWantsOfMemory) {
      return std::string(wrong.status().message());
    }
    struct pollfd cancelled = {cancel.fd(), POLLIN, 0};
    PollUntil(&cancelled, 1, After(Now(), kPauseForMemory));
    if (cancel.reason().has_value()) {
      return absl::CancelledError("shutting down");
    }
  }
}

}  // namespace

std::vector<CanaryRun> PlanCanaries(const PolicySet& policy,
                                    const policy::Language& language) {
  std::vector<CanaryRun> runs;
  if (!language.canary) return runs;
  std::map<std::string, policy::SharedProfile> chosen;  // by filter
  for (const policy::SharedProfile& profile : policy.profiles()) {
    if (!policy::AllowsLanguage(*profile, language.id) ||
        !HasImageOf(*profile, language)) {
      continue;
    }
    policy::SharedProfile& best = chosen[PolicySet::FilterName(*profile)];
    // The default profile is preferred, since it has jails that wait.
    if (best == nullptr || profile == policy.FindProfile("") ||
        (best != policy.FindProfile("") &&
         best->limits.memory_bytes < profile->limits.memory_bytes)) {
      best = profile;
    }
  }
  for (const auto& [filter, profile] : chosen) {
    runs.push_back({&language, profile, true});
    if (HasStartedOnes(language)) runs.push_back({&language, profile, false});
  }
  return runs;
}

absl::Status RunCanary(const CanaryRun& canary, JobRunner& runner,
                       CancelToken& cancel) {
  absl::StatusOr<std::string> wrong = TryAgain(canary, runner, cancel);
  if (!wrong.ok()) return wrong.status();
  if (wrong->empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      canary.language->name, "'s canary failed under profile ",
      canary.profile->name, ", whose system call filter is ",
      PolicySet::FilterName(*canary.profile),
      canary.language->image.empty()
          ? ""
          : absl::StrCat(", in the image ", canary.language->image),
      canary.fresh ? "" : ", in an interpreter that had started",
      ": expected stdout ",
      Quoted(canary.language->canary->output, kMaxQuotedBytes), ", got ",
      *wrong));
}

}  // namespace sandglass::server
