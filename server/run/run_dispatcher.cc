#include "server/run/run_dispatcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/proto_time.h"
#include "server/phases/run_phases.h"
#include "server/run/approval_inputs.h"
#include "server/run/run_response.h"

namespace sandglass::server {
namespace {

// Hashing that many bytes takes some 0.3 ms.
constexpr uint64_t kManyBytes = 256 << 10;

double CpuSeconds(const v1::Usage& usage) {
  return absl::ToDoubleSeconds(FromProto(usage.cpu_user_time()) +
                               FromProto(usage.cpu_system_time()));
}

// What counts towards its tenant's budgets, beside the memory, which is charged
// where it is reserved.
policy::Amounts AmountsOf(const v1::RunCodeResponse& response) {
  policy::Amounts amounts;
  amounts[policy::Resource::kCpuSeconds] =
      CpuSeconds(response.usage()) + CpuSeconds(response.compile().usage());
  amounts[policy::Resource::kEgressBytes] =
      static_cast<double>(response.network().sent_bytes());
  return amounts;
}

int64_t Ms(absl::Duration duration) {
  return absl::ToInt64Milliseconds(duration);
}

}  // namespace

RunDispatcher::RunDispatcher(DispatcherOptions options)
    : options_(std::move(options)),
      admission_(options_.admission),
      lines_(options_.admission.max_queued_bytes),
      registry_(options_.retention) {
  FollowTenants();
}

RunDispatcher::~RunDispatcher() { Shutdown(); }

void RunDispatcher::Start() {
  for (uint32_t i = 0; i < options_.admission.max_running_with_reserve(); ++i) {
    threads_.emplace_back([this] { WorkerLoop(); });
  }
  threads_.emplace_back([this] { OverdueLoop(); });
}

absl::StatusOr<v1::ApprovalNeeded> RunDispatcher::AskForApproval(
    Run& run, const Inspected& inspected) {
  if (options_.approvals == nullptr || run.origin().approval == nullptr) {
    return absl::InternalError("nobody can be asked for an approval");
  }
  ApprovalSubject subject = *run.origin().approval;
  // This is done only now, since most runs need no approval.
  ShowInputs(run, subject.shown);
  subject.fingerprint =
      FingerprintOfRun(subject, run.mutable_inputs(), subject.shown.limits(),
                       *run.job().inspection->profile);
  AddFindings(inspected, *subject.shown.mutable_findings());
  return options_.approvals->Ask(subject);
}

bool RunDispatcher::Unqueue(Run& run) {
  if (admission_.Remove(&run)) return true;
  const auto& session = run.origin().session;
  if (session == nullptr || !session->RemoveWaiting(run)) return false;
  lines_.Remove(run.origin().caller.name, run.origin().request_bytes);
  return true;
}

void RunDispatcher::PassTurnOn(Run& run) {
  const std::shared_ptr<Session> session = run.origin().session;
  if (session == nullptr) return;
  // Only runs have turns, so the next one is a run.
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
  if (run->abandoned() && Unqueue(*run)) EndUnstarted(*run, CallerGone());
  return true;
}

absl::StatusOr<v1::RunSummary> RunDispatcher::Cancel(
    const Identity& caller, const std::string& run_id) {
  absl::StatusOr<std::shared_ptr<Run>> run = registry_.Find(caller, run_id);
  if (!run.ok()) return run.status();
  if (*run != nullptr) {
    (*run)->cancel().Cancel(policy::KillReason::kCancelled);
    if (Unqueue(**run)) EndCancelled(**run);
  }
  return registry_.Describe(caller, run_id);
}

absl::StatusOr<v1::ListRunsResponse> RunDispatcher::List(
    const Identity& caller, const v1::ListRunsRequest& request) {
  return registry_.List(caller, request);
}

void RunDispatcher::WorkerLoop() {
  while (std::optional<Admission::Admitted> admitted = admission_.Pop()) {
    const std::shared_ptr<Run> run = Run::Of(admitted->run);
    run->MarkRunning();
    Execute(*run, std::move(admitted->reservation));
  }
}

void RunDispatcher::OverdueLoop() {
  while (true) {
    const auto overdue = admission_.PopOverdue();
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
    // In the time that the program needs anyway.
    run.OnceStarted([&] { options_.audit->Begin(run); });
    // To hash them then would keep a run's output and deadlines waiting.
    if (run.origin().request_bytes > kManyBytes) options_.audit->Begin(run);
  }
  run.mutable_job().taker = {run.tenant_name(), reservation.is_first()};
  std::optional<UsedLibraries> libraries;
  const absl::Status has_libraries = AcquireLibraries(run, libraries);
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
      !IsLookAlone(run.job().target)) {
    asked = AskForApproval(run, *result->inspected);
  }
  // The slot is released before the answer is sent, so that a caller who runs
  // one program after another never waits for its own last one.
  { const Admission::Reservation released = std::move(reservation); }
  std::shared_ptr<sandbox::Jail> spent;
  std::shared_ptr<v1::RunCodeResponse> response;
  const absl::Status ran = result.status();
  if (ran.ok()) {
    RecordRefusedCalls(run, *result);
    spent = std::move(result->jail);
    response = std::make_shared<v1::RunCodeResponse>(MakeResponse(
        run, *std::move(result), queued, Since(run.origin().accepted)));
  }
  // A stream that nobody reads may keep the run in memory for long.
  run.ReleaseInputs();

  if (!asked.ok()) {
    Finish(run, {.status = RunFailed(asked.status())}, queued);
  } else if (response != nullptr) {
    if (!asked->approval_id().empty()) {
      *response->mutable_approval() = *std::move(asked);
    }
    FitResponse(*response, options_.max_response_bytes);
    Finish(run, {absl::OkStatus(), std::move(response)}, queued);
  } else if (const auto reason = run.cancel().reason();
             reason == policy::KillReason::kSessionDied ||
             (reason.has_value() && absl::IsCancelled(ran))) {
    EndCancelled(run);
  } else {
    Finish(run, {.status = RunFailed(ran)}, queued);
  }
}

absl::Status RunDispatcher::AcquireLibraries(
    Run& run, std::optional<UsedLibraries>& used) {
  Job& job = run.mutable_job();
  if (!job.libraries || IsLookAlone(job.target)) return absl::OkStatus();
  if (options_.libraries == nullptr) {
    return LibrariesUnavailable(options_.no_libraries);
  }
  absl::StatusOr<FoundLibraries> found = options_.libraries->Get(
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

void RunDispatcher::RecordRefusedCalls(const Run& run,
                                       const JobResult& result) {
  // A cell's process lives on, and reports its refused calls at its own end.
  if (options_.denied == nullptr || result.cell.has_value()) return;
  const RunOrigin& origin = run.origin();
  sandbox::RefusedCalls all = result.refused;
  if (result.compile != nullptr) {
    const sandbox::RefusedCalls& compile = result.compile->refused;
    all.calls.insert(all.calls.begin(), compile.calls.begin(),
                     compile.calls.end());
    all.others += compile.others;
  }
  options_.denied->Record({run.id(), origin.language, origin.profile}, all);
}

void RunDispatcher::EndCancelled(Run& run) {
  const policy::KillReason reason = *run.cancel().reason();
  absl::Status status;
  if (reason == policy::KillReason::kShutdown) status = ShuttingDown();
  if (reason == policy::KillReason::kSessionDied) {
    status = run.origin().session->Lives();
  }
  EndUnstarted(run, status);
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

void RunDispatcher::Finish(Run& run, RunEnd end, absl::Duration queued) {
  const RunOrigin& origin = run.origin();
  if (options_.audit != nullptr) {
    const absl::Status written =
        options_.audit->Write(run, end, queued, Since(origin.accepted));
    if (!written.ok()) end = RunEnd{.status = written};
  }
  const absl::Duration total = Since(origin.accepted);
  if (end.status.ok()) {
    const v1::RunCodeResponse& response = *end.response;
    admission_.Charge(origin.caller.tenant, AmountsOf(response));
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
  if (options_.watcher != nullptr) options_.watcher->RecordRun(run, end);
  // First, so that a caller who goes on has nobody of its own before it.
  PassTurnOn(run);
  // ORDER: recorded before it is told, so that a client that has the answer
  // finds the run finished.
  if (const auto told = registry_.Finish(run, end)) run.OnEnd(*told);
}

void RunDispatcher::ChargeCommand(const std::string& tenant,
                                  const v1::ExecEnd& end) {
  policy::Amounts amounts;
  amounts[policy::Resource::kCpuSeconds] = CpuSeconds(end.usage());
  // No memory is reserved for it.
  amounts[policy::Resource::kGbSeconds] =
      static_cast<double>(end.usage().peak_memory_bytes()) / (1 << 30) *
      absl::ToDoubleSeconds(FromProto(end.usage().wall_time()));
  amounts[policy::Resource::kEgressBytes] =
      static_cast<double>(end.network().sent_bytes());
  admission_.Charge(tenant, amounts);
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
