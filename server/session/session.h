#ifndef SANDGLASS_SERVER_SESSION_SESSION_H_
#define SANDGLASS_SERVER_SESSION_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/verdict/verdict.h"
#include "sandglass/v1/session.pb.h"
#include "server/base/clock.h"
#include "server/identity/identity.h"
#include "server/job/job_runner.h"
#include "server/job/session_spec.h"
#include "server/session/session_host.h"
#include "server/session/turn.h"

namespace sandglass::server {

// One computer that a caller keeps: its record, the order of its runs, and the
// host on which they happen. Thread-safe.
class Session final : public JobRunner {
 public:
  // `copy` is where a durable session is kept, null for others; `past` says
  // what the session was before the daemon was started.
  Session(std::string id, Identity caller, SessionSpec spec,
          std::unique_ptr<SessionHost> host,
          std::shared_ptr<SessionCopy> copy = nullptr,
          const SessionPast* past = nullptr);

  const std::string& id() const { return id_; }
  const Identity& caller() const { return caller_; }
  // The session as it was made; labels and times may have changed since.
  const SessionSpec& spec() const { return spec_; }
  SessionHost& host() { return *host_; }

  v1::Session Describe() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasLabels(const google::protobuf::Map<std::string, std::string>& wanted)
      const ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Time expire_time() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs of one context go one after another. Returns true when it is this
  // run's turn now; otherwise some later Leave returns it when it is. It counts
  // as a use of the session until Leave. RESOURCE_EXHAUSTED: too many wait, or
  // there are too many contexts. NOT_FOUND: the session has ended.
  absl::StatusOr<bool> Enter(const std::shared_ptr<Turn>& turn)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs one `arrive` after another, so that a run that others can see already
  // has its place in the line.
  void InOrder(absl::FunctionRef<void()> arrive)
      ABSL_LOCKS_EXCLUDED(arriving_) {
    const absl::MutexLock one(&arriving_);
    arrive();
  }
  // Call it when the run is over or was never begun. Returns the run whose turn
  // it is now, if there is one.
  std::shared_ptr<Turn> Leave(const Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes a run that waits for its turn; returns false when it doesn't wait.
  bool RemoveWaiting(const Turn& turn) ABSL_LOCKS_EXCLUDED(mutex_);

  enum class UseKind {
    kCall,        // a call on its files; it can't be paused meanwhile
    kCommand,     // a command that somebody waits for; likewise
    kConnection,  // one to a program that listens; likewise
    kBackground,  // a command that nobody waits for; none while paused
  };
  // Begins a use of the session that isn't a run: the session is thawed, and
  // doesn't expire until EndUse. `on_end` is called once, on any thread, if the
  // session ends before that. Returns a number for EndUse. The errors are those
  // of Enter; commands are never too many.
  absl::StatusOr<uint64_t> BeginUse(std::function<void()> on_end,
                                    UseKind kind = UseKind::kCall)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ChangeUse(uint64_t use, UseKind kind) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndUse(uint64_t use) ABSL_LOCKS_EXCLUDED(mutex_);
  // `call` is called once when the session ends, on any thread, before its jail
  // dies. The error is that of Lives.
  absl::Status AtEnd(std::function<void(policy::KillReason)> call)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // OK while the session lives; NOT_FOUND once it has ended.
  absl::Status Lives() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Wakes the session if it was paused. For callers that are about to use its
  // jail.
  absl::Status Thaw() ABSL_LOCKS_EXCLUDED(mutex_);
  // FAILED_PRECONDITION while runs go on or wait.
  absl::Status Pause() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Resume() ABSL_LOCKS_EXCLUDED(mutex_);
  // Changes the values that aren't null. RESOURCE_EXHAUSTED: the record of a
  // durable session can't be written.
  absl::Status Update(const std::map<std::string, std::string>* labels,
                      const absl::Duration* idle_timeout,
                      const absl::Duration* max_age)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs a job that has its turn here: a cell in its kernel, or a program. The
  // files of a durable session are saved when this returns, or the result says
  // why not. Errors are as of Lives, Thaw and SessionHost::RunCell.
  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                RunListener* listener) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Before what changed its files is acknowledged: OK when those of a durable
  // session are on the daemon's disk; of others nothing is done. Waits on the
  // calling thread. An error for the caller.
  absl::Status Save() ABSL_LOCKS_EXCLUDED(mutex_);
  // The wall clock was set, so the times that the disk keeps by it are written
  // anew.
  void HandleClockSet() ABSL_LOCKS_EXCLUDED(mutex_);
  // False while the policy doesn't allow the session as it is.
  bool usable() const { return unusable_.empty(); }
  // Null when the session isn't durable.
  const std::shared_ptr<SessionCopy>& copy() const { return copy_; }
  bool durable() const { return copy_ != nullptr; }
  void Touch() ABSL_LOCKS_EXCLUDED(mutex_);

  // The reason why the session is over without anybody ending it:
  // "SESSION_EXPIRED" or "SESSION_DIED" with a sentence; the reason is empty
  // when it isn't over.
  struct Over {
    std::string reason;
    std::string message;
    // How the runs that still go on or wait in it are ended.
    policy::KillReason to_runs = policy::KillReason::kSessionEnded;

    static Over ServerStopped();
  };
  Over LooksOver() const ABSL_LOCKS_EXCLUDED(mutex_);
  // For how long it hasn't been used; nullopt while it is in use.
  std::optional<absl::Duration> IdleTime() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses all use from now on, with that reason, unless the session is in use
  // at this moment or has ended; returns whether it does. End must follow.
  bool CloseIfIdle(const Over& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a durable session: saves its files, ends its jail with all that is in
  // it, and returns true; the next use gets another, and its runs say that the
  // state was lost, and why. Returns false, and leaves the session as it is,
  // when it is in use, has been paused, has commands, or isn't saved. Blocks on
  // the disk.
  bool GiveUpJail(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Kills what runs and refuses what comes. Only the first call counts; the
  // reason is that of CloseIfIdle if it came before.
  void End(const Over& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool InUse() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  size_t UsesOf(UseKind kind) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // When the session expires; while it is in use, computed as if the use ended
  // now.
  MonotonicTime Expires() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status ThawLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TouchLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns an error while the session can't be used.
  absl::Status UsableLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status WriteRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string id_;
  const Identity caller_;
  const SessionSpec spec_;
  const std::unique_ptr<SessionHost> host_;
  const std::shared_ptr<SessionCopy> copy_;
  const std::string unusable_;
  const MonotonicTime created_;
  const absl::Time create_time_;

  absl::Mutex arriving_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> labels_ ABSL_GUARDED_BY(mutex_);
  absl::Duration idle_timeout_ ABSL_GUARDED_BY(mutex_);
  absl::Duration max_age_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime used_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_used_time_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime touched_
      ABSL_GUARDED_BY(mutex_);  // when the copy was last touched
  std::vector<std::string> contexts_ ABSL_GUARDED_BY(mutex_);
  bool dormant_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  Over over_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // by End, after `over_` was set
  // By context; the first run of each line may run.
  std::map<std::string, std::deque<std::shared_ptr<Turn>>> lines_
      ABSL_GUARDED_BY(mutex_);
  struct Use {
    UseKind kind;
    std::function<void()> on_end;
  };
  std::map<uint64_t, Use> uses_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void(policy::KillReason)>> at_end_
      ABSL_GUARDED_BY(mutex_);
  uint64_t next_use_ ABSL_GUARDED_BY(mutex_) = 1;
};

using SharedSession = std::shared_ptr<Session>;

// A use of a session, which lasts as long as this object.
class SessionUse {
 public:
  // Does the same as Session::BeginUse.
  static absl::StatusOr<SessionUse> Begin(
      SharedSession session, std::function<void()> on_end,
      Session::UseKind kind = Session::UseKind::kCall);
  SessionUse(SessionUse&& other) noexcept
      : session_(std::move(other.session_)), number_(other.number_) {}
  SessionUse& operator=(SessionUse&&) = delete;
  ~SessionUse();

  void Change(Session::UseKind kind) { session_->ChangeUse(number_, kind); }

  Session& session() const { return *session_; }
  const SharedSession& shared_session() const { return session_; }

 private:
  SessionUse(SharedSession session, uint64_t number)
      : session_(std::move(session)), number_(number) {}

  SharedSession session_;
  uint64_t number_;
};

// As NodeId says.
std::string NewSessionId();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_H_
