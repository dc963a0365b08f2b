#ifndef SANDGLASS_SANDBOX_EGRESS_CONNECTION_H_
#define SANDGLASS_SANDBOX_EGRESS_CONNECTION_H_

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "sandbox/egress/authority.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/resolver.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/os/fd.h"

namespace sandglass::egress {

// How a program came: by asking the proxy, or by connecting to an address that
// stands for a name (see NameTable).
struct Entrance {
  std::optional<std::string> name;  // absent: it knows that it asks a proxy
  uint16_t port = 0;                // with a name: the one it connected to
};

// What all connections share.
struct Services {
  Resolver resolver;
  Secrets secrets;
  std::shared_ptr<Authority> authority;  // null: no TLS is looked into
  std::shared_ptr<SSL_CTX> to_servers;   // of MakeUpstreamTls
};

// Serves one connection of a program to its end: reads what it wants, asks the
// policy, and passes on. The connection has begun (Lease::Begin); who calls
// ends it. Waits as long as the lease lets it, so it is for a thread of its
// own.
//
// A program is refused with a response of HTTP that says which rule refuses
// (403), or that nothing answers (502, 504), or, inside TLS, with an alert.
// Where the rule inspects, TLS ends here, and such responses are inside it.
void ServeConnection(Lease& lease, const Services& services, os::Fd program,
                     const Entrance& entrance);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_CONNECTION_H_
