#include "gateway/connect/connect_errors.h"

#include "policy/limits/limit_request.h"
#include "policy/text/views.h"
#include "server/base/errors.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::gateway {

using policy::AbslView;
using server::make_error::Code;
using server::make_error::Make;

absl::Status BadHeader(std::string_view name, std::string_view why) {
  return Make(Code::kInvalidArgument, "BAD_HEADER", "the header ",
              AbslView(name), " ", AbslView(why));
}

absl::Status BadQuery(std::string_view parameter, std::string_view why) {
  return Make(Code::kInvalidArgument, "BAD_QUERY", "the query's parameter ",
              AbslView(parameter), " ", AbslView(why));
}

absl::Status UnsupportedEncoding(std::string_view header,
                                 std::string_view value) {
  return Make(Code::kUnimplemented, "UNSUPPORTED_ENCODING", AbslView(header),
              " is ", server::Quoted(value),
              ", and only \"identity\" and \"gzip\" are supported here: send "
              "the content as it is");
}

absl::Status BodyTooSlow() {
  return Make(
      Code::kDeadlineExceeded, "BODY_TOO_SLOW",
      "the rest of the request's body did not come in time: send all of "
      "it at once; where both sides are to stream, use gRPC");
}

absl::Status BadGzip(std::string_view why) {
  return Make(Code::kInvalidArgument, "BAD_GZIP", "the compressed content ",
              AbslView(why));
}

absl::Status BadEnvelope(std::string_view why) {
  return Make(Code::kInvalidArgument, "BAD_ENVELOPE", "the stream's framing ",
              AbslView(why));
}

absl::Status BadJson(const std::string& path, const std::string& why) {
  return server::InvalidRequest({{path, why}});
}

absl::Status BadAnswer(std::string_view type, std::string_view why) {
  return Make(Code::kInternal, "BAD_ANSWER", "the daemon's ", AbslView(type),
              " can't be written as JSON: ", AbslView(why));
}

}  // namespace sandglass::gateway
