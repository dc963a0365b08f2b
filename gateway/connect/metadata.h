#ifndef SANDGLASS_GATEWAY_CONNECT_METADATA_H_
#define SANDGLASS_GATEWAY_CONNECT_METADATA_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::gateway {

// A header of HTTP, or an entry of gRPC's metadata. Names of metadata are in
// small letters. Values of metadata whose names end in "-bin" are bytes; as
// headers they are base64.
struct HeaderField {
  std::string name;
  std::string value;

  bool operator==(const HeaderField& other) const = default;
};
using HeaderFields = std::vector<HeaderField>;

// Bytes of names and values that one request's metadata may have; gRPC allows
// these by default.
inline constexpr size_t kMaxMetadataBytes = 8 * 1024;

// The value of the only header with this name, in any case; nullopt when there
// is none. INVALID_ARGUMENT when there are several. Points into `headers`.
absl::StatusOr<std::optional<std::string_view>> OnlyHeader(
    const HeaderFields& headers, std::string_view name);

// The headers of a request that go on to the daemon: "authorization",
// "traceparent", "tracestate" and "x-request-id", and those whose names end in
// "-bin". Nothing else of what a client or a proxy sends concerns it. Names
// that begin with "connect-", "grpc-" or "sandglass-" never go on: they are the
// protocols' and the gateway's own, and a client could pretend with them.
//
// INVALID_ARGUMENT where one of them has a character that is no printable
// ASCII, isn't base64, or where they are more than kMaxMetadataBytes.
absl::StatusOr<HeaderFields> RequestMetadata(const HeaderFields& headers);

// A daemon's metadata as headers of an answer, each name with `prefix` before
// it
// ("trailer-" or nothing). What HTTP, gRPC and Connect use for themselves is
// left out, and so is what isn't a valid header: no value can end its line.
HeaderFields AnswerHeaders(const HeaderFields& metadata,
                           std::string_view prefix = "");

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_METADATA_H_
