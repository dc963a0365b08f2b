#ifndef SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_
#define SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/files/file_agent_client.h"
#include "server/session/session_copy.h"

namespace sandglass::server {

// Between a jail's /workspace and its copy on the daemon's disk. One thread at
// a time.
class DurableFiles {
 public:
  // `max_entries` is how many names there may be, `workspace_bytes` how much
  // they can have at one time.
  DurableFiles(std::shared_ptr<SessionCopy> copy, uint32_t max_entries,
               uint64_t workspace_bytes)
      : copy_(std::move(copy)),
        max_entries_(max_entries),
        workspace_bytes_(workspace_bytes) {}

  // Whether there is nothing to restore.
  absl::StatusOr<bool> Empty() const;

  // Puts the copy's files into a jail in which nothing has run yet. Those that
  // the copy has lost, or that can't be made there, are noted with the copy as
  // missing (SessionCopy::missing), and stay in it.
  // DATA_LOSS: the copy doesn't say any more which files there were; other
  // errors: nothing can be put there. The time of `limits` is for all of it.
  absl::Status Restore(const std::shared_ptr<sandbox::FileAgent>& agent,
                       const sandbox::FileLimits& limits);

  // Tells the log what was missing at the last Restore, if anything was.
  void LogMissing() const;

  // Brings the copy up to date. With an agent other than the last one, and
  // after a failure, by looking at all. UNAVAILABLE: the agent doesn't do it.
  // The agent has the time of `limits` for all that is asked of it.
  absl::Status Save(const std::shared_ptr<sandbox::FileAgent>& agent,
                    const sandbox::FileLimits& limits);

  // The jail is another one now.
  void Forget();

 private:
  // With `missing` as far as possible, which reads the copy twice. Is over at
  // `end`.
  absl::Status Upload(sandbox::FileAgent& agent,
                      const SessionCopy::Files& files,
                      const sandbox::FileLimits& limits, absl::Time end,
                      SessionCopy::Missing* missing) const;
  absl::Status Track(const std::shared_ptr<sandbox::FileAgent>& agent,
                     bool tell_first, const sandbox::FileLimits& limits);
  // What is known of contents that were read, by their number and sum: one that
  // has many names is read once.
  using Checked = std::map<std::pair<uint64_t, uint32_t>, absl::Status>;
  // Why a file of the copy can't be had from it any more; `go_on` as of
  // SessionCopy::Check.
  absl::Status Lost(const internal::StoredEntry& entry,
                    const std::function<absl::Status()>& go_on,
                    Checked& checked) const;
  absl::Status Take(sandbox::FileChanged change, CopyChange& to) const;

  const std::shared_ptr<SessionCopy> copy_;
  const uint32_t max_entries_;
  const uint64_t workspace_bytes_;
  // In this order: the tracker ends before the agent that it is part of.
  std::shared_ptr<sandbox::FileAgent> agent_;
  sandbox::FileTracker tracker_;
  bool all_due_ = true;  // the next look is to tell all there is
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_DURABLE_FILES_H_
