#ifndef SANDGLASS_GATEWAY_CONNECT_CONNECT_ERRORS_H_
#define SANDGLASS_GATEWAY_CONNECT_CONNECT_ERRORS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sandglass::gateway {

// Errors of the protocols themselves, made as those of server/base/errors.h
// are.

// INVALID_ARGUMENT, "BAD_HEADER". `why` completes a sentence that begins with
// the header's name.
absl::Status BadHeader(std::string_view name, std::string_view why);
// INVALID_ARGUMENT, "BAD_QUERY": the same for a parameter of a GET.
absl::Status BadQuery(std::string_view parameter, std::string_view why);
// UNIMPLEMENTED, "UNSUPPORTED_ENCODING", with the encodings that there are.
absl::Status UnsupportedEncoding(std::string_view header,
                                 std::string_view value);
// DEADLINE_EXCEEDED, "BODY_TOO_SLOW": a request's body paused for too long, or
// took too long altogether.
absl::Status BodyTooSlow();
// INVALID_ARGUMENT, "BAD_GZIP": what is said to be gzip can't be unpacked.
absl::Status BadGzip(std::string_view why);
// INVALID_ARGUMENT, "BAD_ENVELOPE": the framing of a stream is wrong.
absl::Status BadEnvelope(std::string_view why);
// INVALID_ARGUMENT, "INVALID_REQUEST", with BadRequest: what stands at `path`
// of a request's JSON isn't as it has to be.
absl::Status BadJson(const std::string& path, const std::string& why);
// INTERNAL, "BAD_ANSWER": the daemon's answer can't be written as JSON.
absl::Status BadAnswer(std::string_view type, std::string_view why);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_CONNECT_ERRORS_H_
