#ifndef SANDGLASS_CLIENT_AGENT_SANDBOXES_H_
#define SANDGLASS_CLIENT_AGENT_SANDBOXES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/agent/local_tree.h"
#include "client/connection/daemon.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {

// What is in each sandbox of a conversation.
struct SandboxPlan {
  std::string profile;
  std::vector<std::string> libraries;  // Python's
  std::string thread;  // its sandboxes outlive the conversation; empty: none
  std::vector<LocalFile> files;
  std::string directory;  // is made in each; empty: none
};

// The sandboxes of one conversation, by the names that the model gives them.
// They are made when they are first used. Thread-safe.
class Sandboxes {
 public:
  // Both references have to outlive this object.
  Sandboxes(const Daemon& daemon, const Toolbox& toolbox, SandboxPlan plan)
      : daemon_(daemon), toolbox_(toolbox), plan_(std::move(plan)) {}

  // The session of a sandbox. If there is none, it is made now, with the plan's
  // files and directory in it.
  absl::StatusOr<std::string> Get(const std::string& name, CallCancel& cancel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Says that it has ended: the next Get makes another.
  void Lost(const std::string& name, const std::string& session_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts files into a session.
  absl::Status Upload(const std::string& session_id,
                      const std::vector<LocalFile>& files,
                      CallCancel& cancel) const;
  // The names and sessions of the existing sandboxes.
  std::map<std::string, std::string> All() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends them, unless they belong to a thread.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status MakeDirectory(const std::string& session_id,
                             CallCancel& cancel) const;

  const Daemon& daemon_;
  const Toolbox& toolbox_;
  const SandboxPlan plan_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_SANDBOXES_H_
