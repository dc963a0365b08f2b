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

// A process that reads the policy directory again when it is told to, and
// writes the jail templates of what it has read to a ledger, where spawners
// find them. It takes no other orders: whoever takes over the server can have
// jails made only by what root's files say, or have said since the daemon's
// start. It has an uid that nobody else has, no rights but to read what all may
// read, and ends with the server.
class PolicyReader {
 public:
  // Forks it. `in_force` has the languages that all later policies get; `uid`
  // is the process's own, its group may be the server's.
  // Preconditions: root, single-threaded.
  static absl::StatusOr<std::unique_ptr<PolicyReader>> Start(
      const std::string& directory, const PolicySet& in_force,
      sandbox::TemplateLedger ledger, uid_t uid, gid_t gid);

  // The names of the templates of the policy as it is now, which jails can be
  // made by from here on. INVALID_ARGUMENT: what is wrong with the policy.
  // DEADLINE_EXCEEDED: the process hangs, as on a disk; once it goes on it can
  // be asked again. UNAVAILABLE: it is gone; so every later call says. One
  // thread at a time, with Beat.
  absl::StatusOr<std::vector<std::string>> Read(absl::Duration timeout);

  // Whether it answers at all; errors as of Read.
  absl::Status Beat(absl::Duration timeout);

  pid_t pid() const { return pid_; }
  // A descriptor that can be read from once the process has ended, for poll(2).
  int end() const { return pidfd_.get(); }

  // Ends the process; one that hangs ends with this one.
  ~PolicyReader();
  PolicyReader(const PolicyReader&) = delete;
  PolicyReader& operator=(const PolicyReader&) = delete;

 private:
  PolicyReader(os::Fd channel, os::Fd pidfd, pid_t pid)
      : channel_(std::move(channel)), pidfd_(std::move(pidfd)), pid_(pid) {}

  // The answer to a question of this kind, without its head.
  absl::StatusOr<std::string> Ask(char what, absl::Duration timeout);

  os::Fd channel_;  // SOCK_SEQPACKET; invalid once the process is gone
  // Of the questions: how many there were, and which was answered last.
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  os::Fd pidfd_;
  pid_t pid_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_READER_H_
