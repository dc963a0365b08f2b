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

// How a program has reached the proxy: by asking it, or by connecting to an
// address that stands for a name (see NameTable).
struct Entrance {
  std::optional<std::string> name;  // absent: it asked the proxy itself
  uint16_t port = 0;                // with a name: the port it connected to
};

// What all connections share.
struct Services {
  Resolver resolver;
  Secrets secrets;
  std::shared_ptr<Authority> authority;  // null: TLS can't be inspected
  std::shared_ptr<SSL_CTX> to_servers;   // from MakeUpstreamTls
};

// Serves one connection of a program to its end: reads what the program wants,
// asks the policy, and passes data on. The connection has begun (Lease::Begin),
// and the caller ends it. It blocks as long as the lease allows, so it needs a
// thread of its own.
//
// A program that is refused gets an HTTP response that says which rule refuses
// it (403) or that there is no answer (502, 504), or, inside TLS, an alert.
// Where the rule inspects, TLS ends here, and such responses are sent inside of
// it.
void ServeConnection(Lease& lease, const Services& services, os::Fd program,
                     const Entrance& entrance);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_CONNECTION_H_
