#ifndef SANDGLASS_SERVER_IDENTITY_IDENTITY_H_
#define SANDGLASS_SERVER_IDENTITY_IDENTITY_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/identity/scopes.h"

namespace sandglass::server {

// The tenant of this machine's own accounts, unless the configuration says
// otherwise.
inline constexpr char kLocalTenant[] = "local";

// The names of gateways' connections begin so.
inline constexpr char kGatewayPrefix[] = "gateway:";

// The names of those who came over TLS and have proved nothing yet begin so.
inline constexpr char kStrangerPrefix[] = "tls:";

// How a caller proved who it is. The numbers are those of sandglass.v1.Proof.
enum class Proof : uint8_t {
  kNone = 0,
  kUnixSocket = 1,
  kLoopback = 2,
  kCertificate = 3,
  kToken = 4,
  kJwt = 5,
};
const char* NameOf(Proof proof);

// Who sent a request, what it may do, and which trace it is part of. Made once,
// at the edge, and passed down with the request: nothing below asks sockets,
// uids or tokens again.
struct Identity {
  // Names the caller in logs, the audit log and usage, and owns what it makes.
  // See NameOf.
  std::string name;
  // The credentials from SO_PEERCRED when the connection was made; absent for
  // TCP.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  // The trace id of this one request, see TraceIdOf; empty when it is part of
  // no trace.
  std::string trace_id;

  std::string tenant = kLocalTenant;
  Scopes scopes;
  // The profiles that it may use; empty: all of its tenant.
  std::vector<std::string> profiles;
  // Only methods that change nothing.
  bool read_only = false;
  // Whether it sees what other callers of its tenant have.
  bool shares_tenant = false;
  Proof proof = Proof::kNone;
  // When the proof ends; InfiniteFuture: never.
  absl::Time expires = absl::InfiniteFuture();
  std::string token_id;  // empty: it was another proof
  // Where the connection comes from: an IP address, or nothing on the unix
  // socket.
  std::string address;
  // Of a connection: whether it is a gateway's. Each of its calls says by
  // itself who sent it.
  bool is_gateway = false;
  // The gateway that has proved who this is; empty: it was proved here.
  std::string gateway;

  // Who in the tenant: the rest of the name.
  absl::string_view principal() const;

  // Operators see what every caller has and may end it; others see their own,
  // and what their tenant shares.
  bool SeesAll() const { return scopes.Has(Scope::kOperate); }
  // Operators, and this machine's own approvers.
  bool LooksAfterMachine() const {
    return SeesAll() || (uid.has_value() && tenant == kLocalTenant &&
                         scopes.Has(Scope::kApprove));
  }
  // `owner` is the name of another caller.
  bool Sees(absl::string_view owner) const;

  // Compares the callers, whichever request they are of.
  friend bool operator==(const Identity& a, const Identity& b) {
    return a.name == b.name;
  }
};

// "uid:1000" in the tenant "local", "team-a/ci" in any other. No two callers
// have the same: see IsPrincipalName.
std::string NameOf(absl::string_view tenant, absl::string_view principal);
// The tenant in such a name.
absl::string_view TenantOf(absl::string_view name);

// At most 63 of a-z, 0-9 and "-", of which the first is no "-".
bool IsTenantName(absl::string_view text);
// At most 128 of A-Z, a-z, 0-9 and "._@:/-", of which the first is a letter or
// a digit. In the tenant "local" what stands before a "/" isn't the name of a
// tenant, as in "spiffe://...". Names that accounts and addresses have by
// themselves aren't for others: "uid:...", "tcp:...", "tls:...",
// "gateway:...", "others".
bool IsPrincipalName(absl::string_view tenant, absl::string_view text);

// An account of this machine on the unix socket: root may do everything, others
// what is usual.
Identity LocalIdentity(uid_t uid, gid_t gid);
// Whoever has this name, without any right: the owner of what was kept on disk.
Identity OwnerNamed(std::string name);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_IDENTITY_H_
