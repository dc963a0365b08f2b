#ifndef SANDGLASS_SERVER_SESSION_TABLE_H_
#define SANDGLASS_SERVER_SESSION_TABLE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandglass/v1/session.pb.h"
#include "server/caller.h"
#include "server/clock.h"
#include "server/policy_set.h"
#include "server/request_checks.h"
#include "server/session.h"
#include "server/session_spec.h"

namespace sandglass::server {

// All sessions there are, and for a while how the others ended. A thread of its
// own ends those that are over. Thread-safe.
class SessionTable {
 public:
  // `policy` outlives the table. `available` as in DispatcherOptions.
  SessionTable(const PolicySet& policy, const SessionOptions& options,
               MakeSessionHost make_host,
               std::function<absl::Status(const policy::Language&)> available);
  // Calls Stop.
  ~SessionTable();
  SessionTable(const SessionTable&) = delete;
  SessionTable& operator=(const SessionTable&) = delete;

  // Starts the thread. Call once.
  void Start();
  // From here on no session can be made.
  void StopAccepting() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and ends all there are.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<v1::CreateSessionResponse> Create(
      const Caller& caller, const v1::CreateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::GetOrCreateSessionResponse> GetOrCreate(
      const Caller& caller, const v1::GetOrCreateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::ListSessionsResponse> List(
      const Caller& caller, const v1::ListSessionsRequest& request) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<v1::UpdateSessionResponse> Update(
      const Caller& caller, const v1::UpdateSessionRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Delete(const Caller& caller, const std::string& session_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // One that lives. NOT_FOUND when the caller has none of that id, with the
  // reason where it had one.
  absl::StatusOr<std::shared_ptr<Session>> Find(const Caller& caller,
                                                const std::string& session_id)
      ABSL_LOCKS_EXCLUDED(mutex_);

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A session that has ended.
  struct Remembered {
    std::string id;
    std::string caller;
    Session::Over over;
    MonotonicTime ended;
  };

  // Fields in errors begin with `prefix`.
  absl::StatusOr<SessionSpec> Check(const v1::CreateSessionRequest& request,
                                    const std::string& prefix) const;
  absl::StatusOr<std::shared_ptr<Session>> Add(const Caller& caller,
                                               SessionSpec spec)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Session> Latest(const Caller& caller,
                                  const StringMap& labels) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Takes it out of the table; false when somebody else has.
  bool Forget(const Session& session, const Session::Over& over)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const std::shared_ptr<Session>& session, const Session::Over& over)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<Session>> All() const ABSL_LOCKS_EXCLUDED(mutex_);
  void SweepLoop() ABSL_LOCKS_EXCLUDED(mutex_);

  const PolicySet& policy_;
  const SessionOptions options_;
  const MakeSessionHost make_host_;
  const std::function<absl::Status(const policy::Language&)> available_;

  mutable absl::Mutex mutex_;
  // By number of creation, newest first.
  std::map<uint64_t, std::shared_ptr<Session>, std::greater<>> sessions_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> by_id_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint32_t> by_caller_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  std::deque<Remembered> ended_ ABSL_GUARDED_BY(mutex_);  // oldest first
  bool accepting_ ABSL_GUARDED_BY(mutex_) = true;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread sweeper_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_TABLE_H_
