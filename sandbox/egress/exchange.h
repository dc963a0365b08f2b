#ifndef SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_
#define SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_

#include <string>

#include "absl/status/status.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/parse/http_head.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/egress/stream.h"

namespace sandglass::egress {

// One request on its way to a server, and the responses to it.
struct Exchanged {
  // OK: the response went to the program whole. RESOURCE_EXHAUSTED,
  // DEADLINE_EXCEEDED, CANCELLED: as of Relay. INVALID_ARGUMENT: what the
  // program said can't be passed on; DATA_LOSS: what the server did.
  // UNAVAILABLE: one of both went away.
  absl::Status status;
  bool heard = false;  // the server has said something
  // The final response has begun to go to the program, so nothing else can.
  bool answered = false;
  bool request_ended = false;  // all of it has come
  bool program_keeps = false;  // its connection may have another request
  bool server_keeps = false;   // and the server's, too
};

// Sends the head, the body as it comes, and passes the responses on as they
// come: both directions at a time, since a server may answer before it has read
// all. `behind` has what came behind the head, and afterwards what came behind
// the body. `secrets` are taken out of the responses' heads; the request's has
// been dealt with.
Exchanged Exchange(Lease& lease, const RequestHead& head, Stream& program,
                   std::string& behind, Stream& server,
                   const RuleSecrets& secrets);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_
