#ifndef SANDGLASS_SERVER_RUN_RUN_H_
#define SANDGLASS_SERVER_RUN_RUN_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandglass/v1/run.pb.h"
#include "server/admission/queued_run.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/identity/identity.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"
#include "server/run/approvals.h"
#include "server/run/run_inputs.h"
#include "server/session/turn.h"

namespace sandglass::server {

class Session;

// What is known about a run when it is accepted.
struct RunOrigin {
  std::string run_id;
  Identity caller;
  std::string language;  // id
  std::string profile;
  std::string request_id;   // may be empty
  std::string fingerprint;  // of the request; empty without request_id
  std::map<std::string, std::string> labels;
  bool is_batch = false;  // as its request says
  uint64_t request_bytes = 0;
  // When the call's answer has to be there; absent when the call has no
  // deadline.
  std::optional<MonotonicTime> deadline;
  absl::Time create_time;
  MonotonicTime accepted;
  // What a person is asked about the run, if a rule of its profile may require
  // that; the program's own part is added only then.
  std::shared_ptr<const ApprovalSubject> approval;
  // In which it has its turn; null: it is in none.
  std::shared_ptr<Session> session;
};

// A run that is queued or running. Shared by the registry, the queue, its
// worker and the calls that wait on it. Thread-safe.
//
// A run lives for its listeners: when the last of them leaves, it is
// abandoned, cannot be joined any more, and its token is fired. When one of
// several leaves, the run goes on for the others. What the worker tells the
// run, the run tells them.
class Run : public RunListener, public QueuedRun, public Turn {
 public:
  Run(RunOrigin origin, Job job, RunInputs inputs = {})
      : origin_(std::move(origin)),
        job_(std::move(job)),
        inputs_(std::move(inputs)) {}

  // Returns the run behind an entry of the queue or of a session's line, which
  // only ever contain runs. nullptr stays nullptr.
  template <typename Waiting>
  static std::shared_ptr<Run> Of(std::shared_ptr<Waiting> waiting) {
    return std::static_pointer_cast<Run>(std::move(waiting));
  }

  const RunOrigin& origin() const { return origin_; }
  const std::string& id() const override { return origin_.run_id; }
  const std::string& context() const override { return ContextOf(job_.target); }
  const Job& job() const { return job_; }
  const std::string& caller_name() const override {
    return origin_.caller.name;
  }
  const std::string& tenant_name() const override {
    return origin_.caller.tenant;
  }
  bool is_batch() const override { return origin_.is_batch; }
  std::string kind() const override;
  std::optional<MonotonicTime> deadline() const override {
    return origin_.deadline;
  }
  uint64_t request_bytes() const override { return origin_.request_bytes; }
  // Phases come one after the other, so the phase that needs more memory
  // counts.
  uint64_t highest_memory_bytes() const override;
  uint64_t highest_cpu_millis() const override;
  // These are only for the thread that owns the run.
  Job& mutable_job() { return job_; }
  RunInputs& mutable_inputs() { return inputs_; }
  // Frees what was put into the jail, since runs are remembered for long.
  void ReleaseInputs();
  // The beginning of the run's line in the audit log; empty while it isn't
  // made.
  std::string& mutable_audit_members() { return audit_members_; }
  // Called when the program has started, at most once, after the calls that
  // wait for the run were told. Set before the run's phases begin. Work that is
  // done then delays no answer: the program runs meanwhile.
  void OnceStarted(std::function<void()> then) {
    once_started_ = std::move(then);
  }
  CancelToken& cancel() { return cancel_; }
  void Cancel(policy::KillReason reason) override { cancel_.Cancel(reason); }

  enum class Arrival { kFirst, kJoined };
  // Returns false when the run was abandoned or has ended; the listener is then
  // not called.
  bool Attach(RunListener* listener, Arrival arrival)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a listener away. Returns false when OnEnd was called or is being
  // called; otherwise the listener is never called any more. When the last one
  // leaves, the run is abandoned.
  bool Detach(RunListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);

  bool abandoned() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Call it when the run leaves the queue. From here on one thread owns the
  // run; only that thread calls the methods below.
  void MarkRunning() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCompiled(const JobResult& compile) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnLibraryProgress(std::string_view line) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnStarted(const Job& job) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnOutput(Stream stream, std::string_view data, uint64_t offset,
                absl::Duration since_start) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  void OnRich(const RichOutput& output, absl::Duration since_start) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells every listener how the run ended. Only the first call counts.
  void OnEnd(const RunEnd& end) override ABSL_LOCKS_EXCLUDED(mutex_);

  // A one-line summary of the run as it is now.
  v1::RunSummary Summary() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Attached {
    RunListener* listener;
    Arrival arrival;
  };

  // Calls `call` with each listener that hears of the run from its beginning.
  template <typename Call>
  void TellFirst(const Call& call) ABSL_LOCKS_EXCLUDED(mutex_);

  const RunOrigin origin_;
  Job job_;
  RunInputs inputs_;
  std::string audit_members_;
  std::function<void()> once_started_;  // may be empty
  CancelToken cancel_;

  mutable absl::Mutex mutex_;
  std::vector<Attached> listeners_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_H_
