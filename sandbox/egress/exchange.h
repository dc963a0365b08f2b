#ifndef SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_
#define SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_

#include <string>

#include "absl/status/status.h"
#include "sandbox/egress/lease.h"
#include "sandbox/egress/parse/http_head.h"
#include "sandbox/egress/secrets.h"
#include "sandbox/egress/stream.h"

namespace sandglass::egress {

// What became of one request to a server and the responses to it.
struct Exchanged {
  // OK: the whole response was passed to the program. RESOURCE_EXHAUSTED,
  // DEADLINE_EXCEEDED, CANCELLED: as for Relay. INVALID_ARGUMENT: what the
  // program sent can't be passed on. DATA_LOSS: what the server sent can't be.
  // UNAVAILABLE: one of the two has gone away.
  absl::Status status;
  bool heard = false;  // the server has sent something
  // The final response has begun to go to the program, so no other can be sent.
  bool answered = false;
  bool request_ended = false;  // all of it has arrived
  bool program_keeps = false;  // may send another request
  bool server_keeps = false;   // the server accepts another
};

// Sends the head, the body as it arrives, and passes the responses on as they
// arrive. Both directions run at the same time, since a server may answer
// before it has read everything. `behind` contains what came after the head,
// and afterwards what came after the body. `secrets` are removed from the heads
// of responses; the request's head has been handled already.
Exchanged Exchange(Lease& lease, const RequestHead& head, Stream& program,
                   std::string& behind, Stream& server,
                   const RuleSecrets& secrets);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_EXCHANGE_H_
