#ifndef SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_
#define SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_

#include <cstdint>
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
  // Two policies with equal digests are the same.
  bool any = false;
};
PolicyChanges CompareProfiles(const PolicySet& before, const PolicySet& after);

// What a reload asks of the daemon whose policy it is. Called on the reload's
// thread.
class PolicyReloadHooks {
 public:
  virtual ~PolicyReloadHooks() = default;
  // Makes the jail templates of what the policy directory says known, and
  // returns their names (PolicyReader::Read).
  virtual absl::StatusOr<std::vector<std::string>> MakeTemplates() = 0;
  // Checks what the daemon requires of a policy beyond the policy's own rules.
  virtual absl::Status CheckPolicy(const PolicySet& next) = 0;
  // A policy is about to come into force; on an error it doesn't.
  virtual absl::Status RecordPolicy(const PolicySet& next,
                                    const PolicyChanges& changes) = 0;
  // A policy was refused and the old one stayed.
  virtual void RecordRefusedPolicy(const absl::Status& why) = 0;
  // The policy is in force, or was found to be the same as before.
  virtual void FollowPolicy(bool changed) = 0;
  // Called now and then while there is nothing to do, to check whether what
  // MakeTemplates needs is still alive.
  virtual void WatchHelpers() = 0;
};

// Puts what the policy directory says into force while the daemon runs, all of
// it or nothing; if anything is wrong with it, the old policy stays in force.
// Has a thread of its own. Thread-safe.
class PolicyReload {
 public:
  struct State {
    absl::Time loaded;       // when the policy in force was read
    uint64_t reloads = 0;    // that ended well
    std::string last_error;  // of the last reload; empty when it ended well
  };

  // `policy` and `hooks` outlive the reload.
  PolicyReload(std::string directory, LivePolicy& policy,
               PolicyReloadHooks& hooks);
  // Calls Stop().
  ~PolicyReload();
  PolicyReload(const PolicyReload&) = delete;
  PolicyReload& operator=(const PolicyReload&) = delete;

  // Call once.
  void Start();
  // Asks for a reload and returns at once. All that ask while a reload is under
  // way get one more together.
  void Ask() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the reload that is under way; none begins afterwards.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  State state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Reload() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads the policy that the directory has now.
  absl::StatusOr<PolicySet> Load() const;

  const std::string directory_;
  LivePolicy& policy_;
  PolicyReloadHooks& hooks_;
  mutable absl::Mutex mutex_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  State state_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_RELOAD_H_
