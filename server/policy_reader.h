#ifndef SANDGLASS_SERVER_POLICY_READER_H_
#define SANDGLASS_SERVER_POLICY_READER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandbox/template_ledger.h"
#include "server/policy_set.h"

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
  // DEADLINE_EXCEEDED, UNAVAILABLE: the process hangs or is gone; every later
  // call fails too. One thread at a time.
  absl::StatusOr<std::vector<std::string>> Read(absl::Duration timeout);

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

  os::Fd channel_;  // SOCK_SEQPACKET; invalid after a failure
  os::Fd pidfd_;
  pid_t pid_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POLICY_READER_H_
