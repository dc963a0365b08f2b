#ifndef SANDGLASS_GATEWAY_CONNECT_ANSWERS_H_
#define SANDGLASS_GATEWAY_CONNECT_ANSWERS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/connect/codes.h"
#include "gateway/connect/metadata.h"

namespace sandglass::gateway {

enum class Protocol : uint8_t {
  kConnectUnary,   // application/json, application/proto
  kConnectStream,  // application/connect+json, application/connect+proto
  kGrpcWeb,        // application/grpc-web, application/grpc-web+proto
  kGrpcWebText,    // application/grpc-web-text, application/grpc-web-text+proto
};

enum class Codec : uint8_t { kJson, kProto };

// The form that a call's request and answer have.
struct Wire {
  Protocol protocol = Protocol::kConnectUnary;
  Codec codec = Codec::kJson;

  bool operator==(const Wire& other) const = default;
};

// The content type of answers in this form.
std::string_view ContentTypeOf(Wire wire);

// A whole answer, or the beginning of one. The HTTP server adds the content's
// length and what concerns the connection.
struct HttpAnswer {
  int status = 200;
  HeaderFields headers;
  std::string body;

  bool operator==(const HttpAnswer& other) const = default;
};

// An answer of HTTP alone, a sentence as text: for what isn't a call of a
// protocol at all. Connect's clients go by its status.
HttpAnswer PlainAnswer(int status, std::string_view sentence);

// An error of a unary call of Connect: the status of HTTP by its code, and the
// error as JSON. Where its details have RetryInfo also "retry-after", in whole
// seconds, rounded up; with 401 "www-authenticate".
HttpAnswer UnaryError(const CallStatus& status, const HeaderFields& initial,
                      const HeaderFields& trailing);

// The last bytes of a stream's body: Connect's end of the stream, or gRPC-Web's
// trailers. `wire` is of a stream.
std::string StreamEnd(Wire wire, const CallStatus& status,
                      const HeaderFields& trailing);

// The beginning of a stream's answer, with nothing in its body yet.
HttpAnswer StreamBegin(Wire wire, const HeaderFields& initial);

// A whole answer to a call that ends before it has begun, in its own form.
HttpAnswer Refusal(Wire wire, const CallStatus& status);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_ANSWERS_H_
