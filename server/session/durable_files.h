#ifndef SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_
#define SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/files/file_agent_client.h"
#include "server/session/session_copy.h"

namespace sandglass::server {

// Moves files between a jail's /workspace and its copy on the daemon's disk.
// Use it from one thread at a time.
class DurableFiles {
 public:
  // `max_entries` is how many names there may be, `workspace_bytes` the most
  // bytes that the files can have at one time.
  DurableFiles(std::shared_ptr<SessionCopy> copy, uint32_t max_entries,
               uint64_t workspace_bytes)
      : copy_(std::move(copy)),
        max_entries_(max_entries),
        workspace_bytes_(workspace_bytes) {}

  // Returns whether there is nothing to restore.
  absl::StatusOr<bool> Empty() const;

  // Puts the copy's files into a jail in which nothing has run yet. Files that
  // the copy has lost, or that can't be made there, are recorded in the copy as
  // missing (SessionCopy::missing) and stay in it. DATA_LOSS: the copy no
  // longer tells which files there were; other errors: nothing can be put
  // there. The time of `limits` is for all of it together.
  absl::Status Restore(const std::shared_ptr<sandbox::FileAgent>& agent,
                       const sandbox::FileLimits& limits);

  // Logs what was missing at the last Restore, if anything was.
  void LogMissing() const;

  // Brings the copy up to date. Looks at all files when the agent isn't the one
  // of the last call, and after a failure. UNAVAILABLE: the agent doesn't do
  // it. The time of `limits` is for everything that is asked of the agent.
  absl::Status Save(const std::shared_ptr<sandbox::FileAgent>& agent,
                    const sandbox::FileLimits& limits);

  // To be called when the session has got another jail.
  void Forget();

 private:
  // With `missing`, uploads as much as possible, for which the copy is read
  // twice. Ends at `end` at the latest.
  absl::Status Upload(sandbox::FileAgent& agent,
                      const SessionCopy::Files& files,
                      const sandbox::FileLimits& limits, absl::Time end,
                      SessionCopy::Missing* missing) const;
  absl::Status Track(const std::shared_ptr<sandbox::FileAgent>& agent,
                     bool tell_first, const sandbox::FileLimits& limits);
  // What is known of contents that were read, by their number and checksum, so
  // that a content with many names is read only once.
  using Checked = std::map<std::pair<uint64_t, uint32_t>, absl::Status>;
  // Returns why the copy can no longer supply one of its files. `go_on` is
  // called repeatedly meanwhile; when it returns an error, this ends with it.
  absl::Status Lost(const internal::StoredEntry& entry,
                    const std::function<absl::Status()>& go_on,
                    Checked& checked) const;
  absl::Status Handle(sandbox::FileChanged change, CopyChange& to) const;

  const std::shared_ptr<SessionCopy> copy_;
  const uint32_t max_entries_;
  const uint64_t workspace_bytes_;
  // The order matters: the tracker must end before the agent of which it is a
  // part.
  std::shared_ptr<sandbox::FileAgent> agent_;
  sandbox::FileTracker tracker_;
  bool all_due_ = true;  // the next look is to report everything there is
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_
