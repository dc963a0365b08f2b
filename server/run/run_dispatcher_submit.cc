// How a request becomes a run; run_dispatcher.cc has what becomes of that.
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/limits_proto.h"
#include "server/base/log.h"
#include "server/job/job_builder.h"
#include "server/job/run_id.h"
#include "server/live_policy/tenant_rules.h"
#include "server/run/approval_of_run.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {
namespace {

// A burst of short runs need not look at the audit log before each one: every
// line is written only after another look.
constexpr std::chrono::milliseconds kLookedAtFor{100};

// What is kept for a caller, and shown to him alone.
void NameCaller(const PolicySet& policy, const Identity& caller, Job& job) {
  const std::string& name = caller.name;
  if (job.compile && job.compile->caching) {
    std::string& scope = job.compile->caching->scope;
    const policy::Tenant* tenant = policy.tenants()->Find(caller.tenant);
    if (job.compile->caching->by_caller) {
      absl::StrAppend(&scope, " of ", name);
    } else if (tenant != nullptr && tenant->own_compile_cache) {
      absl::StrAppend(&scope, " of tenant ", caller.tenant);
    }
  }
  if (job.libraries) job.libraries->caller = name;
}

// With what the policy made of the request.
ApprovalSubject WithDecided(ApprovalSubject subject,
                            const ValidRequest& valid) {
  const policy::Profile& profile = *valid.profile;
  subject.expires_after = profile.approval.expires_after;
  subject.shown.set_language(valid.language->id);
  subject.shown.set_profile(profile.name);
  subject.shown.set_self_approval(profile.approval.self_approval);
  *subject.shown.mutable_limits() = ToProto(valid.job.limits);
  return subject;
}

}  // namespace

// Each step adds what it finds out.
struct RunDispatcher::Submission {
  // Of the call.
  const Identity& caller;
  v1::RunCodeRequest& request;  // without its larger parts once it is validated
  const std::string& prefix;
  const std::optional<LookOnly>& look;

  // Accept.
  std::shared_ptr<const PolicySet> policy;
  // Its program may turn out to be one that a person is asked about.
  bool may_ask = false;
  RunInputs inputs;
  RunOrigin origin;  // Authorise says what its profile and language are

  // Resolve.
  ApprovalSubject asked;    // where a person may be asked
  std::string approval_id;  // that the request brings

  // Validate.
  ValidRequest valid;
};

std::shared_ptr<Run> RunDispatcher::Submit(
    const Identity& caller, v1::RunCodeRequest&& request,
    std::optional<MonotonicTime> deadline, const std::string& prefix,
    RunListener* listener, const std::optional<LookOnly>& look) {
  Submission submission{
      .caller = caller, .request = request, .prefix = prefix, .look = look};
  submission.origin.deadline = deadline;
  absl::Status good = Accept(submission);
  if (good.ok()) good = Resolve(submission);
  if (good.ok()) good = Validate(submission);
  if (good.ok()) good = Authorise(submission);
  if (!good.ok()) {
    Refuse(submission, good, listener);
    return nullptr;
  }
  return Queue(submission, listener);
}

void RunDispatcher::Refuse(const Submission& submission,
                           const absl::Status& status,
                           RunListener* listener) const {
  const Identity& caller = submission.caller;
  Log(LogLevel::kInfo, "refused",
      {{"caller", caller.name},
       {"error", std::string(status.message())},
       {"trace_id", caller.trace_id, true}});
  // Of a question about a program nothing would have run.
  if (options_.watcher != nullptr && !submission.look) {
    options_.watcher->RecordRefused(caller, status);
  }
  listener->OnEnd({.status = status});
}

absl::Status RunDispatcher::Accept(Submission& submission) {
  if (!accepting_) return ShuttingDown();
  if (options_.audit != nullptr) {
    absl::Status ready = options_.audit->trail().Ready(kLookedAtFor);
    if (!ready.ok()) return ready;
  }
  const v1::RunCodeRequest& request = submission.request;
  submission.policy = options_.policy->Get();
  // A session may go on by a profile that has been replaced.
  submission.may_ask =
      submission.policy->asks_for_approval() || !request.session_id().empty();
  if (options_.audit != nullptr || submission.may_ask) {
    submission.inputs = InputsOf(request);
  }
  RunOrigin& origin = submission.origin;
  origin.run_id = NewRunId();
  origin.caller = submission.caller;
  origin.request_id = request.request_id();
  origin.labels = {request.labels().begin(), request.labels().end()};
  origin.is_batch = request.priority() == v1::RUN_PRIORITY_BATCH;
  origin.request_bytes = request.ByteSizeLong();
  origin.create_time = os::WallNow();
  origin.accepted = Now();
  if (!origin.request_id.empty()) origin.fingerprint = Fingerprint(request);
  return absl::OkStatus();
}

absl::Status RunDispatcher::Resolve(Submission& submission) {
  v1::RunCodeRequest& request = submission.request;
  if (!request.session_id().empty()) {
    absl::StatusOr<std::shared_ptr<Session>> found =
        options_.sessions->Find(submission.caller, request.session_id());
    if (!found.ok()) return found.status();
    submission.origin.session = *std::move(found);
  } else if (request.profile().empty()) {
    request.set_profile(ProfileFor(*submission.policy, submission.caller, ""));
  }
  if (submission.may_ask) {
    submission.asked = AskedAbout(submission.caller, request);
  }
  submission.approval_id = request.approval_id();
  return absl::OkStatus();
}

absl::Status RunDispatcher::Validate(Submission& submission) const {
  const std::optional<LookOnly>& look = submission.look;
  absl::StatusOr<ValidRequest> valid = ValidateRunCode(
      *submission.policy, std::move(submission.request), submission.prefix,
      submission.origin.session, look.has_value() ? look->profile : nullptr);
  if (!valid.ok()) return valid.status();
  submission.valid = *std::move(valid);
  if (!look.has_value() || look->profile == nullptr) {
    absl::Status may = MayUseProfile(*submission.policy, submission.caller,
                                     submission.valid.profile->name);
    if (!may.ok()) return may;
  }
  const policy::Language& language = *submission.valid.language;
  absl::Status can_run =
      options_.gate->Available(language, *submission.valid.profile);
  if (can_run.ok() && NeedsPreparedAnalyser(submission.valid.job)) {
    can_run = options_.gate->Prepared(language);
  }
  return can_run;
}

absl::Status RunDispatcher::Authorise(Submission& submission) {
  const policy::Language& language = *submission.valid.language;
  Job& job = submission.valid.job;
  NameCaller(*submission.policy, submission.caller, job);
  submission.origin.language = language.id;
  submission.origin.profile = submission.valid.profile->name;
  job.run_id = submission.origin.run_id;
  if (submission.look.has_value()) {
    job.target = LookAlone{.as_cell = IsCell(job.target)};
    if (submission.look->profile != nullptr) {
      UseJailsOf(submission.policy->ToolProfile(language), language, job);
    }
    return absl::OkStatus();
  }
  if (job.inspection == nullptr) return absl::OkStatus();
  return PrepareApproval(submission);
}

absl::Status RunDispatcher::PrepareApproval(Submission& submission) {
  const ValidRequest& valid = submission.valid;
  if (options_.approvals == nullptr ||
      !policy::MayAskForApproval(valid.profile->rules, valid.language->id)) {
    return absl::OkStatus();
  }
  const auto subject = std::make_shared<const ApprovalSubject>(
      WithDecided(std::move(submission.asked), valid));
  const auto approver =
      std::make_shared<ApprovalOfRun>(*options_.approvals, subject);
  if (!submission.approval_id.empty()) {
    AddDigests(
        valid.job,
        options_.audit != nullptr && options_.audit->trail().keeps_code(),
        submission.inputs);
    const std::string fingerprint = FingerprintOfRun(
        *subject, submission.inputs, subject->shown.limits(), *valid.profile);
    absl::Status good = approver->Name(submission.approval_id, fingerprint);
    if (!good.ok()) return good;
  }
  valid.job.inspection->approver = approver;
  submission.origin.approval = subject;
  return absl::OkStatus();
}

std::shared_ptr<Run> RunDispatcher::Queue(Submission& submission,
                                          RunListener* listener) {
  const auto run = std::make_shared<Run>(std::move(submission.origin),
                                         std::move(submission.valid.job),
                                         std::move(submission.inputs));
  using How = RunRegistry::Claimed::How;
  RunRegistry::Claimed claimed;
  bool queued = true;
  const auto arrive = [&] {
    claimed = registry_.Claim(run, listener);
    // A worker may have ended the run before this returns; Leave then says that
    // OnEnd was called.
    if (claimed.how == How::kNew) queued = Enqueue(run);
  };
  if (const auto& session = run->origin().session; session != nullptr) {
    session->InOrder(arrive);
  } else {
    arrive();
  }
  if (claimed.how != How::kEnded) return queued ? claimed.run : nullptr;
  if (claimed.end.status.ok()) {
    listener->OnEnd(claimed.end);
  } else {
    Refuse(submission, claimed.end.status, listener);
  }
  return nullptr;
}

bool RunDispatcher::Enqueue(const std::shared_ptr<Run>& run) {
  absl::Status queued;
  bool turn = true;
  if (const auto& session = run->origin().session; session != nullptr) {
    // Counted before it is in the line, where its turn may come at once.
    const RunOrigin& origin = run->origin();
    const absl::Status room =
        lines_.Add(origin.caller.name, origin.request_bytes);
    absl::StatusOr<bool> entered = session->Enter(run);
    queued = entered.status();
    turn = entered.ok() && *entered;
    if (!entered.ok() || turn) {
      lines_.Remove(origin.caller.name, origin.request_bytes);
    } else if (!room.ok() && session->RemoveWaiting(*run)) {
      lines_.Remove(origin.caller.name, origin.request_bytes);
      queued = room;
    }
  }
  if (queued.ok() && turn) queued = admission_.Enqueue(run);
  if (!queued.ok()) Finish(*run, {.status = queued}, absl::ZeroDuration());
  return queued.ok();
}

}  // namespace sandglass::server
