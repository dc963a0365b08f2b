#ifndef SANDGLASS_SERVER_RUN_RUN_DISPATCHER_H_
#define SANDGLASS_SERVER_RUN_RUN_DISPATCHER_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/run.pb.h"
#include "server/admission/admission.h"
#include "server/job/inspection.h"
#include "server/job/job_runner.h"
#include "server/job/language_gate.h"
#include "server/job/refused_calls.h"
#include "server/layers/library_request.h"
#include "server/live_policy/live_policy.h"
#include "server/phases/compile_cache.h"
#include "server/run/run.h"
#include "server/run/run_audit.h"
#include "server/run/run_registry.h"
#include "server/run/run_watcher.h"
#include "server/run/validate.h"
#include "server/session/session.h"
#include "server/session/session_lines.h"
#include "server/session/session_table.h"

namespace sandglass::server {

struct DispatcherOptions {
  AdmissionOptions admission;
  RetentionOptions retention;
  uint64_t max_response_bytes = uint64_t{16} << 20;
  // All that is pointed to outlives the dispatcher. Never null:
  const LivePolicy* policy = nullptr;
  JobRunner* runner = nullptr;
  const LanguageGate* gate = nullptr;
  SessionTable* sessions = nullptr;  // unless no request names a session
  // May be null:
  CompileCache* compile_cache = nullptr;
  LibraryFinder* libraries = nullptr;  // then none can be had, as says:
  std::string no_libraries = "this daemon installs no libraries";
  ApprovalTable* approvals = nullptr;  // then nobody can approve anything
  RunAudit* audit = nullptr;           // then there is no audit log
  RefusedCallLog* denied = nullptr;    // then calls aren't traced
  RunWatcher* watcher = nullptr;
};

// A run that ends after the inspection of its program's text.
struct LookOnly {
  // A profile that isn't in force, to be used instead of the one that the
  // request names. Null: the request's own.
  policy::SharedProfile profile;
};

// Takes requests to their ends: validates, registers and admits them, runs them
// on a worker and answers. It knows nothing of gRPC. There are as many workers
// as runs may go on at the same time; once a run has left the queue, one worker
// owns it until its end.
class RunDispatcher {
 public:
  explicit RunDispatcher(DispatcherOptions options);
  // Calls Shutdown().
  ~RunDispatcher();

  // Starts the threads. Call once.
  void Start();

  // Accepts a request. `listener` gets exactly one OnEnd, perhaps before this
  // returns, unless Leave takes it away first. Returns the run for which the
  // listener waits, or null when OnEnd was called already. `deadline` is that
  // of the call; absent means none. `prefix` is as in ValidateRunCode.
  std::shared_ptr<Run> Submit(
      const Identity& caller, v1::RunCodeRequest&& request,
      std::optional<MonotonicTime> deadline, const std::string& prefix,
      RunListener* listener,
      const std::optional<LookOnly>& look = std::nullopt);

  // The listener's call has gone away. Returns true when the listener will not
  // get OnEnd. A run whose last listener leaves is cancelled.
  bool Leave(const std::shared_ptr<Run>& run, RunListener* listener);

  // Does CancelRun: stops a run for all who wait for it.
  absl::StatusOr<v1::RunSummary> Cancel(const Identity& caller,
                                        const std::string& run_id);
  absl::StatusOr<v1::ListRunsResponse> List(const Identity& caller,
                                            const v1::ListRunsRequest& request);

  // From now on every Submit is answered with UNAVAILABLE.
  void StopAccepting() { accepting_ = false; }
  // The tenants of the policy may be others than before.
  void FollowTenants() {
    admission_.SetTenants(options_.policy->Get()->tenants());
  }
  // Commands count towards their tenants' budgets, too.
  absl::Status BudgetLeft(const std::string& tenant) {
    return admission_.BudgetLeft(tenant);
  }
  void ChargeCommand(const std::string& tenant, const v1::ExecEnd& end);
  // Does the same as Admission::Recheck.
  void Recheck() { admission_.Recheck(); }
  // True when no run is queued or running.
  bool idle() const { return registry_.live_count() == 0; }
  // Stops every run. Those that have started are answered with
  // OUTCOME_SHUTDOWN, the others with UNAVAILABLE.
  void CancelAll();
  // Does StopAccepting and CancelAll, then waits for the workers.
  void Shutdown();

  const Admission& admission() const { return admission_; }
  Admission& admission() { return admission_; }

 private:
  // What Submit knows of a request, from step to step.
  struct Submission;
  // Its steps. An error is for the caller: the request is refused.
  // Whether requests are taken now; notes when this one came, and what of.
  absl::Status Accept(Submission& submission);
  // Finds the session that it names.
  absl::Status Resolve(Submission& submission);
  // Whether all it says is right, and can be had here and now.
  absl::Status Validate(Submission& submission) const;
  // Whether the approval that it names may be used, if it takes one; says what
  // may be done with its job.
  absl::Status Authorise(Submission& submission);
  // Makes the run, and lets it wait for a worker unless its request_id is known
  // already. Returns what Submit does.
  std::shared_ptr<Run> Queue(Submission& submission, RunListener* listener);
  void Refuse(const Submission& submission, const absl::Status& status,
              RunListener* listener) const;
  // Lets the run use the approval that its request names, and be asked about.
  // An error: that approval can't be used.
  absl::Status PrepareApproval(Submission& submission);
  // Has people asked about a run that was not let run.
  absl::StatusOr<v1::ApprovalNeeded> AskForApproval(Run& run,
                                                    const Inspected& inspected);
  void WorkerLoop();
  void OverdueLoop();
  void Execute(Run& run, Admission::Reservation reservation);
  // Gives the run's jails the libraries that it asks for, if it does; that may
  // take an install. CANCELLED when its token fires; otherwise the errors of
  // Libraries.
  absl::Status AcquireLibraries(Run& run, std::optional<UsedLibraries>& used);
  void RecordRefusedCalls(const Run& run, const JobResult& result);
  // To the gate, or into its session's line. Ends a run that is refused; true
  // otherwise.
  bool Enqueue(const std::shared_ptr<Run>& run);
  // Takes a run away that waits for a worker or for its turn in its session.
  bool Unqueue(Run& run);
  // Gives the next run of its session its turn.
  void PassTurnOn(Run& run);
  // Ends a run that was told to stop before its program started.
  void EndCancelled(Run& run);
  // Ends a run that never started.
  void EndUnstarted(Run& run, const absl::Status& status);
  // Every run that was accepted ends here, once: in the audit log, by what
  // comes of that in the log, and for all who wait.
  void Finish(Run& run, RunEnd end, absl::Duration queued);

  const DispatcherOptions options_;
  Admission admission_;
  SessionLines lines_;
  RunRegistry registry_;
  std::atomic<bool> accepting_{true};
  std::vector<std::thread> threads_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_DISPATCHER_H_
