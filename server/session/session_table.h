#ifndef SANDGLASS_SERVER_SESSION_SESSION_TABLE_H_
#define SANDGLASS_SERVER_SESSION_SESSION_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandglass/v1/session.pb.h"
#include "server/audit/audit_trail.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/base/shares.h"
#include "server/identity/identity.h"
#include "server/job/language_gate.h"
#include "server/job/request_checks.h"
#include "server/job/session_spec.h"
#include "server/live_policy/live_policy.h"
#include "server/session/session.h"
#include "server/session/session_store.h"

namespace sandglass::server {

// All sessions there are, and for a while how the others ended. A thread of its
// own ends those that are over. Thread-safe.
class SessionTable {
 public:
  // `policy` and `gate` outlive the table.
  // `store` has the durable sessions, null: there are none; it outlives the
  // table, as does `audit`, null: nothing is put on record.
  SessionTable(const LivePolicy& policy, const SessionOptions& options,
               MakeSessionHost make_host, const LanguageGate& gate,
               SessionStore* store = nullptr, AuditTrail* audit = nullptr);
  // Calls Stop.
  ~SessionTable();
  SessionTable(const SessionTable&) = delete;
  SessionTable& operator=(const SessionTable&) = delete;

  // Brings back the sessions that an earlier daemon left, and starts the
  // thread. Call once.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on no session can be made.
  void StopAccepting() ABSL_LOCKS_EXCLUDED(mutex_);
  // Does the same and ends all sessions; durable ones go on with the next
  // daemon.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // To be called when the wall clock was set.
  void HandleClockSet() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<v1::CreateSessionResponse> Create(
      const Identity& caller, const v1::CreateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::GetOrCreateSessionResponse> GetOrCreate(
      const Identity& caller, const v1::GetOrCreateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::ListSessionsResponse> List(
      const Identity& caller, const v1::ListSessionsRequest& request) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::UpdateSessionResponse> Update(
      const Identity& caller, const v1::UpdateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes sessions with the same files, all of them or none. Waits for the
  // parent's jail, so it must never be called on gRPC's threads; `cancel` ends
  // the wait.
  absl::StatusOr<v1::ForkSessionResponse> Fork(
      const Identity& caller, const v1::ForkSessionRequest& request,
      const std::shared_ptr<CancelToken>& cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Delete(const Identity& caller, const std::string& session_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Finds a session that lives. NOT_FOUND when the caller has none with that
  // id, with the reason if it had one.
  absl::StatusOr<SharedSession> Find(const Identity& caller,
                                     const std::string& session_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

  // What SpareBesidePrograms says now. To be called about once a second. What
  // is missing twice in a row, so that the pool couldn't give it, is taken soon
  // afterwards from sessions that are not in use: of the tenant whose sessions
  // hold most, the one that was longest not in use. Those that are evictable
  // end; then durable ones give up their jails, and go on with the next use.
  // Others stay as they are. No session can be made until the memory is there.
  void SetSpareMemory(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A session that has ended.
  struct Remembered {
    std::string id;
    std::string caller;
    Session::Over over;
    MonotonicTime ended;
  };

  // Fields that errors name begin with `prefix`.
  absl::StatusOr<SessionSpec> Check(const Identity& caller,
                                    const v1::CreateSessionRequest& request,
                                    const std::string& prefix) const;
  // Sessions, and what they may take together.
  struct Wanted {
    size_t count = 0;
    uint64_t memory_bytes = 0;
    void Add(const SessionSpec& spec) {
      ++count;
      memory_bytes += spec.limits.memory_bytes;
    }
  };
  // Checks whether a caller may have these as well, when `gone` of its own have
  // given way.
  absl::Status Room(const Identity& caller, const Wanted& wanted,
                    const Wanted& gone) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The part of it that its tenant's file decides.
  absl::Status TenantRoom(const Identity& caller, const Wanted& wanted,
                          const Wanted& gone) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The part of it that is about memory.
  absl::Status MemoryRoom(const Identity& caller, const Wanted& wanted,
                          const Wanted& gone) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The same with the ones that there would be if all evictable sessions of the
  // caller that are not in use had given way.
  absl::Status RoomAtBest(const Identity& caller, const Wanted& wanted) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Takes as many of the caller's evictable sessions that are not in use out of
  // the table as must give way for that many more, those first that were
  // longest not in use. They are appended to `evicted`, also on an error;
  // FinishEnd must follow for each.
  absl::Status MakeRoom(const Identity& caller, const Wanted& wanted,
                        std::vector<SharedSession>& evicted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a session that isn't in the table yet; with `parent`, its copy has
  // the parent's files.
  absl::StatusOr<SharedSession> Make(const Identity& caller, SessionSpec spec,
                                     SessionCopy* parent,
                                     SharedArchive archive) const;
  // Removes what Make made of a session that doesn't get into the table.
  void Discard(const Session& session) const;
  void Insert(const SharedSession& session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  struct Added {
    SharedSession session;
    bool created = false;
  };
  // Makes a session that is on record, unless the caller has one with the
  // labels of the request and `by_labels` asks for that one.
  absl::StatusOr<Added> Add(const Identity& caller,
                            const v1::CreateSessionRequest& request,
                            const std::string& prefix, bool by_labels)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts a session's creation on record. On an error the session is ended
  // again.
  absl::Status Record(const Identity& caller, const SharedSession& session)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void BringBack() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a session here; it goes on with the next daemon. After `until` nothing
  // more is saved.
  void Suspend(const SharedSession& session, MonotonicTime until)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The specs of a fork's children, all checked.
  absl::StatusOr<std::vector<SessionSpec>> CheckChildren(
      const Session& parent, const v1::ForkSessionRequest& request) const;
  SharedSession Latest(const Identity& caller, const StringMap& labels) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The caller's evictable sessions that are not in use, those first that were
  // longest not in use.
  std::vector<SharedSession> IdleEvictable(const Identity& caller) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Takes the session out of the table; false when another thread has done so.
  bool Forget(const Session& session, const Session::Over& over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `by` is who asked for it; empty when nobody did.
  void End(const SharedSession& session, const Session::Over& over,
           const std::string& by = "") ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a session that was taken out of the table.
  void FinishEnd(const SharedSession& session, const Session::Over& over,
                 const std::string& by) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndEvicted(const std::vector<SharedSession>& evicted)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what SetSpareMemory says.
  void EaseMemory() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes from an idle session what it holds; false when it came into use.
  bool GiveUp(const SharedSession& session) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<SharedSession> All() const ABSL_LOCKS_EXCLUDED(mutex_);
  void SweepLoop() ABSL_LOCKS_EXCLUDED(mutex_);

  const LivePolicy& policy_;
  const SessionOptions options_;
  const MakeSessionHost make_host_;
  const LanguageGate& gate_;
  SessionStore* const store_;
  AuditTrail* const audit_;

  mutable absl::Mutex mutex_;
  // Keyed by the number of creation, newest first.
  std::map<uint64_t, SharedSession, std::greater<>> sessions_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> by_id_ ABSL_GUARDED_BY(mutex_);
  Shares shares_ ABSL_GUARDED_BY(mutex_);
  // The memory limits of all sessions: each may come to hold that much.
  Shares memory_ ABSL_GUARDED_BY(mutex_);
  bool lacked_memory_ ABSL_GUARDED_BY(mutex_) = false;  // at the last look
  bool lacks_memory_ ABSL_GUARDED_BY(mutex_) = false;   // twice in a row
  uint64_t to_give_up_ ABSL_GUARDED_BY(mutex_) = 0;     // bytes
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  std::deque<Remembered> ended_ ABSL_GUARDED_BY(mutex_);  // oldest first
  bool accepting_ ABSL_GUARDED_BY(mutex_) = true;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread sweeper_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SESSION_TABLE_H_
