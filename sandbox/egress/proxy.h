#ifndef SANDGLASS_SANDBOX_EGRESS_PROXY_H_
#define SANDGLASS_SANDBOX_EGRESS_PROXY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/egress/authority.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/name_table.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/os/fd.h"

namespace sandglass::egress {

// A jail's sockets. They were made in its network namespace by a process that
// has the right to, and aren't open anywhere in the jail; what arrives on them
// comes from a program.
struct JailSockets {
  os::Fd proxy;  // listens for programs that ask the proxy
  // They listen on all addresses of `lo`, each on one of the policy's ports;
  // the address to which a program connects stands for the name.
  std::vector<os::Fd> ports;
  os::Fd dns;  // bound, for datagrams
};

struct ProxyOptions {
  // The secrets that rules may list.
  Secrets secrets;
  // Terminates TLS for rules that inspect; without it such rules refuse.
  std::shared_ptr<Authority> authority;
  // Issuers of servers' certificates to trust in addition to those that this
  // host trusts, in PEM.
  std::string extra_roots_pem;
};

// Serves the jails that it is given, each by its own policy. One thread accepts
// connections and answers DNS; each connection has a thread of its own.
class Proxy {
 public:
  // INVALID_ARGUMENT: extra_roots_pem can't be read.
  static absl::StatusOr<std::unique_ptr<Proxy>> Start(
      Resolver resolver, ProxyOptions options = {});
  // Ends all connections.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Serves the jail until Close. ALREADY_EXISTS: the number is in use.
  // RESOURCE_EXHAUSTED: no descriptor is free.
  absl::Status Open(uint64_t id,
                    std::shared_ptr<const policy::NetworkPolicy> policy,
                    const LeaseLimits& limits, JailSockets sockets)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // What the jail has used up to now. NOT_FOUND: there is no such number.
  absl::StatusOr<LeaseUsage> Read(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all connections of the jail, waits until they have ended, and returns
  // the jail's total use. NOT_FOUND: there is no such number.
  absl::StatusOr<LeaseUsage> Close(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Jail {
    std::shared_ptr<Lease> lease;
    JailSockets sockets;
    NameTable names;
  };
  enum class Door : uint8_t { kProxy, kPort, kDns };
  // What an event of the loop refers to.
  struct Watched {
    uint64_t id;
    Door door;
    int fd;
  };

  Proxy(Services services, os::Fd epoll, os::Fd ending)
      : services_(std::move(services)),
        epoll_(std::move(epoll)),
        ending_(std::move(ending)) {}

  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Serve(uint64_t watch) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns false when no connection can ever come there again.
  bool Accept(const Watched& watched, Jail& jail)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void AnswerQueries(const Watched& watched, Jail& jail);
  absl::Status Watch(const Watched& watched)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Services services_;
  const os::Fd epoll_;
  const os::Fd ending_;  // eventfd
  std::thread thread_;
  bool short_ = false;  // of descriptors or memory; used by thread_

  absl::Mutex mutex_;
  std::map<uint64_t, Jail> jails_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Watched> watched_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_watch_ ABSL_GUARDED_BY(mutex_) = 1;  // 0 is for ending_
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PROXY_H_
