#include "server/run/run_dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/digest.h"
#include "server/base/errors.h"
#include "server/base/limits_proto.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/job/run_id.h"
#include "server/phases/run_phases.h"
#include "server/run/approval_inputs.h"
#include "server/run/run_response.h"

namespace sandglass::server {
namespace {

// Hashed in some 0.3 ms.
constexpr uint64_t kManyBytes = 256 << 10;

// A burst of short runs need not look at the audit log before each one: every
// line is written only after another look.
constexpr std::chrono::milliseconds kLookedAtFor{100};

int64_t Ms(absl::Duration duration) {
  return absl::ToInt64Milliseconds(duration);
}

// What is kept for a caller, and shown to him alone.
void NameCaller(const std::string& name, Job& job) {
  if (job.compile && job.compile->caching && job.compile->caching->by_caller) {
    absl::StrAppend(&job.compile->caching->scope, " of ", name);
  }
  if (job.libraries) job.libraries->caller = name;
}

}  // namespace

RunDispatcher::RunDispatcher(DispatcherOptions options)
    : options_(std::move(options)),
      admission_(options_.admission),
      lines_(options_.admission.max_queued_bytes),
      registry_(options_.retention) {}

RunDispatcher::~RunDispatcher() { Shutdown(); }

void RunDispatcher::Start() {
  for (uint32_t i = 0; i < options_.admission.most_running(); ++i) {
    threads_.emplace_back([this] { WorkerLoop(); });
  }
  threads_.emplace_back([this] { OverdueLoop(); });
}

std::shared_ptr<Run> RunDispatcher::Submit(
    const Caller& caller, v1::RunCodeRequest&& request,
    std::optional<MonotonicTime> deadline, const std::string& prefix,
    RunListener* listener, const std::optional<LookOnly>& look) {
  const auto refuse = [&](const absl::Status& status) {
    Log(LogLevel::kInfo, "refused",
        {{"caller", caller.name},
         {"error", std::string(status.message())},
         {"trace_id", caller.trace_id, true}});
    // Of a question about a program nothing would have run.
    if (options_.on_refused && !look) options_.on_refused(caller, status);
    listener->OnEnd({.status = status});
    return nullptr;
  };
  if (!accepting_) return refuse(ShuttingDown());
  RunInputs inputs;
  if (options_.audit != nullptr) {
    const absl::Status ready = options_.audit->trail().Ready(kLookedAtFor);
    if (!ready.ok()) return refuse(ready);
  }
  const std::shared_ptr<const PolicySet> policy = options_.policy->Get();
  // A session may go on by a profile that has been replaced.
  const bool may_ask =
      policy->asks_for_approval() || !request.session_id().empty();
  if (options_.audit != nullptr || may_ask) {
    inputs = InputsOf(request);
  }

  RunOrigin origin{.run_id = NewRunId(),
                   .caller = caller,
                   .request_id = request.request_id(),
                   .labels = {request.labels().begin(), request.labels().end()},
                   .request_bytes = request.ByteSizeLong(),
                   .deadline = deadline,
                   .create_time = os::WallNow(),
                   .accepted = Monotonic::now()};
  if (!origin.request_id.empty()) origin.fingerprint = Fingerprint(request);

  std::shared_ptr<Session> session;
  if (!request.session_id().empty()) {
    absl::StatusOr<std::shared_ptr<Session>> found =
        options_.find_session(caller, request.session_id());
    if (!found.ok()) return refuse(found.status());
    session = *std::move(found);
  }
  ApprovalSubject asked;
  if (may_ask) asked = AskedAbout(caller, request);
  const std::string approval_id = request.approval_id();
  absl::StatusOr<ValidRequest> valid =
      ValidateRunCode(*policy, std::move(request), prefix, session,
                      look.has_value() ? look->profile : nullptr);
  if (!valid.ok()) return refuse(valid.status());
  if (const absl::Status available =
          options_.available(*valid->language, *valid->profile);
      !available.ok()) {
    return refuse(available);
  }
  if (NeedsPreparedAnalyser(valid->job) && options_.prepared) {
    if (absl::Status there = options_.prepared(*valid->language); !there.ok()) {
      return refuse(there);
    }
  }
  NameCaller(caller.name, valid->job);
  origin.language = valid->language->id;
  origin.profile = valid->profile->name;
  valid->job.run_id = origin.run_id;
  if (look.has_value()) {
    valid->job.look_only = true;
    if (look->profile != nullptr) {
      UseJailsOf(policy->ToolProfile(*valid->language), *valid->language,
                 valid->job);
    }
  } else if (valid->job.inspection != nullptr) {
    if (absl::Status good =
            PrepareApproval(asked, approval_id, *valid, inputs, origin);
        !good.ok()) {
      return refuse(good);
    }
  }
  const auto run = std::make_shared<Run>(
      std::move(origin), std::move(valid->job), std::move(inputs));

  using How = RunRegistry::Claimed::How;
  RunRegistry::Claimed claimed;
  bool queued = true;
  const auto arrive = [&] {
    claimed = registry_.Claim(run, listener);
    // A worker may have ended the run before this returns; Leave then says that
    // OnEnd was called.
    if (claimed.how == How::kNew) queued = Queue(run);
  };
  if (session != nullptr) {
    session->InOrder(arrive);
  } else {
    arrive();
  }
  if (claimed.how == How::kEnded) {
    if (!claimed.end.status.ok()) return refuse(claimed.end.status);
    listener->OnEnd(claimed.end);
    return nullptr;
  }
  return queued ? claimed.run : nullptr;
}

absl::Status RunDispatcher::PrepareApproval(const ApprovalSubject& asked,
                                            const std::string& approval_id,
                                            ValidRequest& valid,
                                            RunInputs& inputs,
                                            RunOrigin& origin) {
  ApprovalTable* approvals = options_.approvals;
  if (approvals == nullptr ||
      !policy::MayAskForApproval(valid.profile->rules, valid.language->id)) {
    return absl::OkStatus();
  }
  auto subject = std::make_shared<ApprovalSubject>(asked);
  subject->expires_after = valid.profile->approval.expires_after;
  v1::Approval& shown = subject->shown;
  shown.set_language(valid.language->id);
  shown.set_profile(valid.profile->name);
  shown.set_self_approval(valid.profile->approval.self_approval);
  *shown.mutable_limits() = ToProto(valid.job.limits);
  Inspection& inspection = *valid.job.inspection;
  if (!approval_id.empty()) {
    AddDigests(
        valid.job,
        options_.audit != nullptr && options_.audit->trail().keeps_code(),
        inputs);
    const std::string fingerprint =
        FingerprintOfRun(*subject, inputs, shown.limits(), *valid.profile);
    if (absl::Status there =
            approvals->Check(approval_id, origin.caller, fingerprint);
        !there.ok()) {
      return there;
    }
    inspection.use_approval = [approvals, approval_id, subject,
                               fingerprint]() -> absl::StatusOr<ApprovedBy> {
      const absl::StatusOr<v1::Approval> used =
          approvals->Use(approval_id, subject->caller, fingerprint);
      if (!used.ok()) return used.status();
      return ApprovedBy{approval_id, used->approver()};
    };
  }
  if (!shown.session_id().empty()) {
    inspection.approved_before =
        [approvals, session = shown.session_id()](const std::string& rule) {
          return approvals->ApprovedForSession(session, rule);
        };
  }
  origin.approval = std::move(subject);
  return absl::OkStatus();
}

absl::StatusOr<v1::ApprovalNeeded> RunDispatcher::AskForApproval(
    Run& run, const Inspected& inspected) {
  if (options_.approvals == nullptr || run.origin().approval == nullptr) {
    return absl::InternalError("nobody can be asked for an approval");
  }
  ApprovalSubject subject = *run.origin().approval;
  // Most runs need no approval, and none of this.
  ShowInputs(run, subject.shown);
  subject.fingerprint =
      FingerprintOfRun(subject, run.mutable_inputs(), subject.shown.limits(),
                       *run.job().inspection->profile);
  AddFindings(inspected, *subject.shown.mutable_findings());
  return options_.approvals->Ask(subject);
}

bool RunDispatcher::Queue(const std::shared_ptr<Run>& run) {
  absl::Status queued;
  bool turn = true;
  if (const auto& session = run->job().session; session != nullptr) {
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

bool RunDispatcher::Unqueue(Run& run) {
  if (admission_.Remove(&run)) return true;
  const auto& session = run.job().session;
  if (session == nullptr || !session->RemoveWaiting(run)) return false;
  lines_.Remove(run.origin().caller.name, run.origin().request_bytes);
  return true;
}

void RunDispatcher::PassTurnOn(Run& run) {
  const std::shared_ptr<Session> session = run.job().session;
  if (session == nullptr) return;
  // None but runs have turns.
  const auto next = Run::Of(session->Leave(run));
  if (next == nullptr) return;
  lines_.Remove(next->origin().caller.name, next->origin().request_bytes);
  if (next->cancel().reason().has_value()) return EndCancelled(*next);
  if (const absl::Status queued = admission_.Enqueue(next); !queued.ok()) {
    Finish(*next, {.status = queued}, Since(next->origin().accepted));
  }
}

bool RunDispatcher::Leave(const std::shared_ptr<Run>& run,
                          RunListener* listener) {
  if (!run->Detach(listener)) return false;
  // A run that still waits would keep its place until a worker took it.
  if (run->abandoned() && Unqueue(*run)) {
    EndUnstarted(*run, CallerGone());
  }
  return true;
}

absl::StatusOr<v1::RunSummary> RunDispatcher::Cancel(
    const Caller& caller, const std::string& run_id) {
  absl::StatusOr<std::shared_ptr<Run>> run = registry_.Find(caller, run_id);
  if (!run.ok()) return run.status();
  if (*run != nullptr) {
    (*run)->cancel().Cancel(policy::KillReason::kCancelled);
    if (Unqueue(**run)) EndCancelled(**run);
  }
  return registry_.Describe(caller, run_id);
}

absl::StatusOr<v1::ListRunsResponse> RunDispatcher::List(
    const Caller& caller, const v1::ListRunsRequest& request) {
  return registry_.List(caller, request);
}

void RunDispatcher::WorkerLoop() {
  while (std::optional<Admission::Admitted> admitted = admission_.Take()) {
    const std::shared_ptr<Run> run = Run::Of(admitted->run);
    run->MarkRunning();
    Execute(*run, std::move(admitted->reservation));
  }
}

void RunDispatcher::OverdueLoop() {
  while (true) {
    const auto overdue = admission_.TakeOverdue();
    if (overdue.empty()) return;
    const absl::Duration retry = admission_.RetryDelay();
    for (const auto& queued : overdue) {
      const std::shared_ptr<Run> run = Run::Of(queued);
      if (run->cancel().reason().has_value()) {
        EndCancelled(*run);
        continue;
      }
      EndUnstarted(*run, QueueTimeout(Since(run->origin().accepted), retry));
    }
  }
}

void RunDispatcher::Execute(Run& run, Admission::Reservation reservation) {
  const absl::Duration queued = Since(run.origin().accepted);
  if (run.cancel().reason().has_value()) return EndCancelled(run);
  if (options_.audit != nullptr) {
    run.TellStartTo(options_.audit);
    // To hash them then would keep a run's output and deadlines waiting.
    if (run.origin().request_bytes > kManyBytes) options_.audit->Begin(run);
  }
  std::optional<UsedLibraries> libraries;
  const absl::Status has_libraries = TakeLibraries(run, libraries);
  absl::StatusOr<JobResult> result =
      !has_libraries.ok() ? has_libraries
                          : RunPhases(*options_.runner, run.mutable_job(),
                                      run.origin().deadline, run.cancel(), &run,
                                      options_.compile_cache);
  if (result.ok() && libraries) result->libraries = std::move(libraries);
  // Unless its program's start did.
  if (options_.audit != nullptr) options_.audit->Begin(run);
  absl::StatusOr<v1::ApprovalNeeded> asked = v1::ApprovalNeeded();
  if (result.ok() &&
      result->verdict.outcome == policy::Outcome::kNeedsApproval &&
      !run.job().look_only) {
    asked = AskForApproval(run, *result->inspected);
  }
  // The slot comes free before the answer goes out, so that a caller who runs
  // one program after another never waits for its own last one.
  { const Admission::Reservation released = std::move(reservation); }
  // A stream that nobody reads may keep the run for long.
  run.ReleaseInputs();

  if (result.ok()) NoteDenied(run, *result);
  if (!asked.ok()) {
    Finish(run, {.status = RunFailed(asked.status())}, queued);
  } else if (result.ok()) {
    const std::shared_ptr<sandbox::Jail> spent = std::move(result->jail);
    auto response = std::make_shared<v1::RunCodeResponse>(MakeResponse(
        run, *std::move(result), queued, Since(run.origin().accepted)));
    if (!asked->approval_id().empty()) {
      *response->mutable_approval() = *std::move(asked);
    }
    FitResponse(*response, options_.max_response_bytes);
    Finish(run, {absl::OkStatus(), std::move(response)}, queued);
  } else if (const auto reason = run.cancel().reason();
             reason == policy::KillReason::kSessionDied ||
             (reason.has_value() && absl::IsCancelled(result.status()))) {
    EndCancelled(run);
  } else {
    Finish(run, {.status = RunFailed(result.status())}, queued);
  }
}

absl::Status RunDispatcher::TakeLibraries(Run& run,
                                          std::optional<UsedLibraries>& used) {
  Job& job = run.mutable_job();
  if (!job.libraries || job.look_only) return absl::OkStatus();
  if (!options_.find_libraries) {
    return LibrariesUnavailable("this daemon installs no libraries");
  }
  absl::StatusOr<FoundLibraries> found = options_.find_libraries(
      *job.libraries,
      [&run](std::string_view line) { run.OnLibraryProgress(line); },
      run.cancel());
  if (!found.ok()) return found.status();
  used = Used(*job.libraries, *found);
  job.layer = std::move(found->layer);
  if (!job.zygote.empty() && !found->zygote.empty()) {
    job.zygote = std::move(found->zygote);
  }
  if (job.compile && job.compile->caching) {
    absl::StrAppend(&job.compile->caching->scope, " libraries ", job.layer.id);
  }
  return absl::OkStatus();
}

void RunDispatcher::NoteDenied(const Run& run, const JobResult& result) {
  // A cell's process lives on, and tells its refused calls at its own end.
  if (options_.denied == nullptr || result.cell.has_value()) return;
  const RunOrigin& origin = run.origin();
  sandbox::RefusedCalls all = result.refused;
  if (result.compile != nullptr) {
    const sandbox::RefusedCalls& compile = result.compile->refused;
    all.calls.insert(all.calls.begin(), compile.calls.begin(),
                     compile.calls.end());
    all.others += compile.others;
  }
  options_.denied->Note({run.id(), origin.language, origin.profile}, all);
}

void RunDispatcher::EndCancelled(Run& run) {
  switch (*run.cancel().reason()) {
    case policy::KillReason::kShutdown:
      return EndUnstarted(run, ShuttingDown());
    case policy::KillReason::kSessionDied:
      return EndUnstarted(run, run.job().session->Lives());
    default:
      return EndUnstarted(run, absl::OkStatus());
  }
}

void RunDispatcher::EndUnstarted(Run& run, const absl::Status& status) {
  const absl::Duration queued = Since(run.origin().accepted);
  RunEnd end{.status = status};
  if (status.ok()) {
    end.response =
        std::make_shared<v1::RunCodeResponse>(MakeNeverStartedResponse(
            run, queued,
            run.cancel().reason().value_or(policy::KillReason::kCancelled)));
  }
  Finish(run, end, queued);
}

RunEnd RunDispatcher::Audited(Run& run, const RunEnd& end,
                              absl::Duration queued) {
  if (options_.audit == nullptr) return end;
  const absl::Status written =
      options_.audit->Write(run, end, queued, Since(run.origin().accepted));
  return written.ok() ? end : RunEnd{.status = written};
}

void RunDispatcher::Finish(Run& run, const RunEnd& unaudited,
                           absl::Duration queued) {
  const RunEnd end = Audited(run, unaudited, queued);
  const RunOrigin& origin = run.origin();
  const absl::Duration total = Since(origin.accepted);
  if (end.status.ok()) {
    const v1::RunCodeResponse& response = *end.response;
    Log(LogLevel::kInfo, "run_end",
        {{"run_id", run.id()},
         {"caller", origin.caller.name},
         {"lang", origin.language},
         {"profile", origin.profile},
         {"outcome", std::string(policy::OutcomeName(
                         static_cast<policy::Outcome>(response.outcome())))},
         {"rule", response.evidence().rule()},
         {"queue_ms", Ms(queued)},
         {"total_ms", Ms(total)},
         {"wall_ms", response.usage().wall_time().seconds() * 1000 +
                         response.usage().wall_time().nanos() / 1'000'000},
         {"peak_memory_bytes", response.usage().peak_memory_bytes()},
         {"stdout_bytes", response.stdout().total_bytes()},
         {"stderr_bytes", response.stderr().total_bytes()},
         {"abandoned", run.abandoned()},
         {"trace_id", origin.caller.trace_id, true}});
  } else {
    Log(absl::IsInternal(end.status) ? LogLevel::kError : LogLevel::kWarning,
        "run_failed",
        {{"run_id", run.id()},
         {"caller", origin.caller.name},
         {"lang", origin.language},
         {"profile", origin.profile},
         {"code", absl::StatusCodeToString(end.status.code())},
         {"error", std::string(end.status.message())},
         {"queue_ms", Ms(queued)},
         {"total_ms", Ms(total)},
         {"trace_id", origin.caller.trace_id, true}});
  }
  if (options_.on_end) options_.on_end(run, end);
  // First, so that a caller who goes on has nobody of its own before it.
  PassTurnOn(run);
  registry_.Finish(run, end);
}

void RunDispatcher::CancelAll() {
  for (const std::shared_ptr<Run>& run : registry_.Live()) {
    run->cancel().Cancel(policy::KillReason::kShutdown);
    if (Unqueue(*run)) EndUnstarted(*run, ShuttingDown());
  }
}

void RunDispatcher::Shutdown() {
  StopAccepting();
  CancelAll();
  for (const auto& queued : admission_.Stop()) {
    EndUnstarted(*Run::Of(queued), ShuttingDown());
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace sandglass::server
