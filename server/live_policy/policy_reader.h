#ifndef SANDGLASS_SERVER_LIVE_POLICY_POLICY_READER_H_
#define SANDGLASS_SERVER_LIVE_POLICY_POLICY_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandbox/yard/template_ledger.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// A process that reads the policy directory again on request and writes the
// jail templates of what it has read to a ledger, where spawners find them. It
// takes no other orders. So somebody who takes over the server can only have
// jails made that root's files allow, or have allowed since the daemon's start.
// The process has a uid that nobody else has and no rights except to read what
// everybody may read, and it ends with the server.
class PolicyReader {
 public:
  // Forks the process. All later policies get the languages of `in_force`.
  // `uid` must be the process's own; `gid` may be the server's. Preconditions:
  // root, single-threaded.
  static absl::StatusOr<std::unique_ptr<PolicyReader>> Start(
      const std::string& directory, const PolicySet& in_force,
      sandbox::TemplateLedger ledger, uid_t uid, gid_t gid);

  // Reads the policy as it is now and returns the names of its templates, from
  // which jails can be made from now on. INVALID_ARGUMENT says what is wrong
  // with the policy. DEADLINE_EXCEEDED: the process hangs, perhaps on a disk;
  // once it goes on it can be asked again. UNAVAILABLE: the process is gone,
  // and every later call says so, too. Read and Beat may be called by only one
  // thread at a time.
  absl::StatusOr<std::vector<std::string>> Read(absl::Duration timeout);

  // Checks whether the process answers at all; the errors are those of Read.
  absl::Status Beat(absl::Duration timeout);

  pid_t pid() const { return pid_; }
  // A descriptor for poll(2) that becomes readable when the process has ended.
  int end() const { return pidfd_.get(); }

  // Ends the process. If it hangs, it ends together with this process.
  ~PolicyReader();
  PolicyReader(const PolicyReader&) = delete;
  PolicyReader& operator=(const PolicyReader&) = delete;

 private:
  PolicyReader(os::Fd channel, os::Fd pidfd, pid_t pid)
      : channel_(std::move(channel)), pidfd_(std::move(pidfd)), pid_(pid) {}

  // Sends a question of this kind and returns the answer without its head.
  absl::StatusOr<std::string> Ask(char what, absl::Duration timeout);

  os::Fd channel_;  // SOCK_SEQPACKET; invalid once the process is gone
  // The number of questions asked so far, and the number of the one that was
  // answered last.
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  os::Fd pidfd_;
  pid_t pid_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_READER_H_
