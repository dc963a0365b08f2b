#ifndef SANDGLASS_GATEWAY_PORTS_PORT_HEADS_H_
#define SANDGLASS_GATEWAY_PORTS_PORT_HEADS_H_

#include <optional>
#include <string>
#include <string_view>

#include "gateway/connect/call_head.h"
#include "gateway/connect/metadata.h"
#include "gateway/ports/port_target.h"

namespace sandglass::gateway {

// By which a browser has the link again, on a program's own origin. Nobody but
// this host's pages gets it, and no script reads it.
inline constexpr char kLinkCookie[] = "__Host-sandglass-link";
// The parameter of a query in which a link comes the first time.
inline constexpr char kLinkParameter[] = "sandglass-link";
// A token for the gateway, where Authorization is the program's own.
inline constexpr char kTokenHeader[] = "sandglass-token";

// How a request says who sends it, for the gateway and not for the program.
struct PortProof {
  std::string token;  // without "Bearer "
  std::string link;
  bool by_cookie = false;         // the link is a cookie
  bool by_authorization = false;  // the token was in Authorization
};
PortProof ProofOf(const PortTarget& target, const HttpHead& request);

// Whether a browser sends this for a page of another origin. What such a page
// sends has the cookie with it, so a cookie proves nothing then.
bool ComesFromElsewhere(const HttpHead& request);

// Whether the client wants to speak another protocol from here on, which can
// only be WebSocket.
bool WantsWebSocket(const HttpHead& request);

// The head of the request for the program, up to and with its empty line.
// Headers that are about the connection, that prove to the gateway who sends
// it, and cookies that are none of the program's are left out; Host and Origin
// are those of a page that is served on the program's own loopback. `length`
// nullopt: the body, if there is one, is in chunks.
struct PortRequest {
  const PortTarget& target;
  const HttpHead& request;
  const PortProof& proof;
  std::string_view address;  // of the client
  std::optional<uint64_t> length;
  bool has_body = false;
};
std::string RequestHead(const PortRequest& request);

// The program's headers for the client. On the gateway's own origin without
// what would reach others there: cookies, and what browsers remember of an
// origin; and with the policy by which its pages are of no origin at all.
HeaderFields ResponseHeaders(const PortTarget& target, uint64_t status,
                             const HeaderFields& headers);

// The request's target without the link in its query, to which a browser is
// sent with the cookie. nullopt: there is no link in it, or it can't be sent
// there.
std::optional<std::string> TargetWithoutLink(const PortTarget& target);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PORTS_PORT_HEADS_H_
