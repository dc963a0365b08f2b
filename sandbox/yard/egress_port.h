#ifndef SANDGLASS_SANDBOX_YARD_EGRESS_PORT_H_
#define SANDGLASS_SANDBOX_YARD_EGRESS_PORT_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "internal/egress.pb.h"
#include "sandbox/jail/network_lease.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/jail_template.h"
#include "sandbox/wire/network_use.h"

namespace sandglass::sandbox {

struct EgressOptions {
  std::string path;  // the sandglass-egress executable
  uid_t uid = 0;     // its own; also the number of its group
  // The templates that have a network. Later ones the proxy finds in the
  // ledger.
  std::vector<JailTemplate> templates;
  int template_ledger = -1;  // borrowed, as in SandboxOptions
  // The DNS servers, "address" or "address:port"; empty: those of the host.
  std::vector<std::string> resolvers;
  // A file for each secret, by the secret's name. The process that starts the
  // proxy needn't be able to read what is in them.
  std::map<std::string, os::Fd> secrets;
  // In PEM: the certificate and key of the authority that signs for inspected
  // hosts and that jails trust, and roots that the proxy trusts in addition to
  // the host's.
  std::string authority_certificate;
  std::string authority_key;
  std::string extra_roots;
};

// The egress proxy's process, and the daemon's end of the channel to it. The
// proxy has the host's network and no rights: what it lets through is decided
// by root's files, whoever asks. Thread-safe after Start; outlives its leases.
class EgressPort {
 public:
  // Starts the proxy and waits until it serves, at most 10 s.
  // Preconditions: root, single-threaded.
  static absl::StatusOr<std::unique_ptr<EgressPort>> Start(
      const EgressOptions& options);

  // Ends the proxy.
  ~EgressPort();
  EgressPort(const EgressPort&) = delete;
  EgressPort& operator=(const EgressPort&) = delete;

  // Has a jail served by the rules of its template. `doors` are those of
  // Jail::Parts; afterwards the caller doesn't need them any more.
  // NOT_FOUND: there is no such template, or it has no network.
  // RESOURCE_EXHAUSTED: the proxy has no free descriptor. UNAVAILABLE,
  // DEADLINE_EXCEEDED: the proxy is gone or hangs, and will stay so.
  absl::StatusOr<std::unique_ptr<NetworkLease>> Open(
      const std::string& template_name, const std::vector<os::Fd>& doors)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Starts a thread that regularly asks the process for a sign of life. It
  // calls `on_death` when the process is gone or hasn't answered this thread or
  // any other caller, but not on orderly destruction. Call once.
  absl::Status StartWatch(std::function<void(absl::Status)> on_death);

  pid_t pid() const { return pid_; }

 private:
  class Lease;  // what Open returns

  EgressPort(os::Fd channel, os::Fd pidfd, pid_t pid)
      : pidfd_(std::move(pidfd)), pid_(pid), channel_(std::move(channel)) {}

  absl::StatusOr<NetworkUse> Use(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the proxy answers.
  bool Lives() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<internal::EgressAnswer> Ask(
      uint64_t id, const internal::EgressRequest& request,
      const std::vector<os::Fd>& fds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const os::Fd pidfd_;
  const pid_t pid_;
  os::Fd stop_;  // eventfd
  std::thread watch_;
  absl::Mutex mutex_;
  // SOCK_SEQPACKET; invalid after a failure.
  os::Fd channel_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_EGRESS_PORT_H_
