#ifndef SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_
#define SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/live_policy/live_policy.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// How the profiles of one policy differ from those of another, by name.
struct PolicyChanges {
  std::vector<std::string> added;
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  // Two policies of equal digests are the same.
  bool any = false;
};
PolicyChanges CompareProfiles(const PolicySet& before, const PolicySet& after);

struct PolicyReloadParts {
  std::string directory;
  LivePolicy* policy = nullptr;  // outlives the reload
  // Has the jail templates of what the directory says made known, and tells
  // their names (PolicyReader::Read).
  std::function<absl::StatusOr<std::vector<std::string>>()> read;
  // What the daemon asks of a policy beyond its own rules; empty: nothing.
  std::function<absl::Status(const PolicySet&)> check;
  // Before a policy comes into force; a failure keeps it from that. Empty:
  // nothing is recorded.
  std::function<absl::Status(const PolicySet&, const PolicyChanges&)> record;
  // After one was refused, and the old one stayed. Empty: as above.
  std::function<void(const absl::Status& why)> record_refusal;
  // Called now and then while there is nothing to do: whether what `read` needs
  // lives. Empty: it isn't looked after.
  std::function<void()> look;
  // Once it is in force, or was found to be the same that was.
  std::function<void(bool changed)> after;
};

// Puts what the policy directory says into force while the daemon runs, whole
// or not at all; what is wrong keeps the old policy in force. Has a thread.
// Thread-safe.
class PolicyReload {
 public:
  struct State {
    absl::Time loaded;       // when the policy in force was read
    uint64_t reloads = 0;    // that ended well
    std::string last_error;  // of the last one; empty: it ended well
  };

  explicit PolicyReload(PolicyReloadParts parts);
  // Stops.
  ~PolicyReload();
  PolicyReload(const PolicyReload&) = delete;
  PolicyReload& operator=(const PolicyReload&) = delete;

  // Call once.
  void Start();
  // Returns at once. What is asked while a reload goes on makes one more.
  void Ask() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for one that goes on; none begins afterwards.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  State state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Reload() ABSL_LOCKS_EXCLUDED(mutex_);
  // The policy that the directory has now.
  absl::StatusOr<PolicySet> Load() const;

  const PolicyReloadParts parts_;
  mutable absl::Mutex mutex_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  State state_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_
