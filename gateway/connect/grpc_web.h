#ifndef SANDGLASS_GATEWAY_CONNECT_GRPC_WEB_H_
#define SANDGLASS_GATEWAY_CONNECT_GRPC_WEB_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/connect/codes.h"
#include "gateway/connect/metadata.h"

// What gRPC-Web has besides the framing of envelope.h.
namespace sandglass::gateway {

// The content of the frame that ends an answer: gRPC's status and the trailing
// metadata, as lines of HTTP's headers.
std::string TrailersBlock(const CallStatus& status,
                          const HeaderFields& trailing);

// Reads the base64 of grpc-web-text, whatever the pieces in which it comes.
// Padding may also stand in the middle, where its sender began anew.
class WebTextReader {
 public:
  // The bytes that `text` completes. INVALID_ARGUMENT with "BAD_ENVELOPE" for
  // anything but base64; then every later call says the same.
  absl::StatusOr<std::string> Feed(std::string_view text);
  // What the end of the text here means: OK between groups of four characters.
  absl::Status Finish() const;

 private:
  std::string rest_;  // up to three characters of a group
  bool bad_ = false;
};

// Bytes as grpc-web-text: base64 with its padding, so that pieces can be sent
// one after the other.
std::string WebText(std::string_view bytes);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_GRPC_WEB_H_
