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
  uid_t uid = 0;     // its own, and the number of its group
  // Those that have a network; later ones it finds in the ledger.
  std::vector<JailTemplate> templates;
  int template_ledger = -1;  // borrowed, as in SandboxOptions
  // "address" or "address:port"; empty: the host's own.
  std::vector<std::string> resolvers;
  // Files, by the secrets' names. Whoever starts the proxy needn't know what is
  // in them.
  std::map<std::string, os::Fd> secrets;
  // In PEM: of the authority that signs for inspected hosts, which jails trust;
  // and issuers that the proxy trusts beside the host's.
  std::string authority_certificate;
  std::string authority_key;
  std::string extra_roots;
};

// The egress proxy's process, and the daemon's end of its channel. It has the
// host's network and no rights: what it lets through is what root's files say,
// whoever asks. Thread-safe after Start; outlives its leases.
class EgressPort {
 public:
  // Starts it and waits until it serves, 10 s at most.
  // Preconditions: root, single-threaded.
  static absl::StatusOr<std::unique_ptr<EgressPort>> Start(
      const EgressOptions& options);

  // Ends it.
  ~EgressPort();
  EgressPort(const EgressPort&) = delete;
  EgressPort& operator=(const EgressPort&) = delete;

  // Has a jail served by its template's rules; `doors` are Jail::Parts',
  // which the caller needs no longer afterwards.
  // NOT_FOUND: there is no such template, or it has no network.
  // RESOURCE_EXHAUSTED: the proxy has no descriptor free. UNAVAILABLE,
  // DEADLINE_EXCEEDED: it is gone, or hangs; that stays so.
  absl::StatusOr<std::unique_ptr<NetworkLease>> Open(
      const std::string& template_name, const std::vector<os::Fd>& doors)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Starts the thread that asks the process for a sign of life now and then,
  // and calls `on_death` when it is gone or doesn't answer, whoever asked; not
  // on orderly destruction. Call once.
  absl::Status StartWatch(std::function<void(absl::Status)> on_death);

  pid_t pid() const { return pid_; }

 private:
  class Lease;  // what Open hands out

  EgressPort(os::Fd channel, os::Fd pidfd, pid_t pid)
      : pidfd_(std::move(pidfd)), pid_(pid), channel_(std::move(channel)) {}

  absl::StatusOr<NetworkUse> Use(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it answers.
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
