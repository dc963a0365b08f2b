#ifndef SANDGLASS_GATEWAY_CONNECT_CALL_HEAD_H_
#define SANDGLASS_GATEWAY_CONNECT_CALL_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "gateway/connect/answers.h"
#include "gateway/connect/metadata.h"
#include "gateway/connect/methods.h"

namespace sandglass::gateway {

// A request's head, as the HTTP server has it.
struct HttpHead {
  std::string method;  // "POST"
  std::string path;    // without the query, as it was written
  std::string query;   // behind the "?", without it
  HeaderFields headers;
};

// What a request's head asks for.
struct CallHead {
  const Method* method = nullptr;  // never null
  Wire wire;
  // For the daemon, with its bytes decoded.
  HeaderFields metadata;
  // From now; absent: as long as it takes. At most 115 days, and zero where the
  // client's time was over when it sent the request.
  std::optional<absl::Duration> timeout;
  // The request's body is compressed, or each message of its stream may be.
  bool gzip = false;
  // The request asks for bytes as text, too (WriteJson).
  bool texts = false;
  // Of a GET: the message, in the form that wire.codec says. It has no body.
  std::optional<std::string> query_message;
};

// Reads a head of Connect or gRPC-Web. Gives what is to be answered instead, at
// once and without reading a body, where
//   - there is no such method: 404;
//   - the method of HTTP isn't POST, or GET where that has no side effects: 405
//     with "allow";
//   - the content type is none of those that the method can have: 415 with
//     "accept-post". A stream isn't answered in a form that its client didn't
//     ask for, and couldn't tell from success;
//   - the protocol's version, the timeout, an encoding, the query or metadata
//   is
//     wrong: an error in the protocol's own form.
std::variant<CallHead, HttpAnswer> ReadCallHead(const HttpHead& head);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_CALL_HEAD_H_
