#ifndef SANDGLASS_GATEWAY_CONNECT_STREAM_H_
#define SANDGLASS_GATEWAY_CONNECT_STREAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/connect/call_head.h"
#include "gateway/connect/envelope.h"
#include "gateway/connect/grpc_web.h"
#include "gateway/connect/json_codec.h"

namespace sandglass::gateway {

// The body of a request that has envelopes, as messages of gRPC, whatever the
// pieces in which it comes: a stream of Connect, and every call of gRPC-Web.
class StreamReader {
 public:
  // `call` must outlive it. `bounds` are those of each message.
  StreamReader(const CallHead& call, const JsonBounds& bounds);

  // Appends the messages that `data` completes. On an error, which ends the
  // stream, those before it are there.
  absl::Status Feed(std::string_view data, std::vector<std::string>& messages);
  // At the body's end: OK between messages. One of a method whose client
  // doesn't stream has to have had exactly one message.
  absl::Status Finish() const;

 private:
  absl::Status Take(std::string_view bytes, std::vector<std::string>& messages);

  const CallHead& call_;
  const JsonBounds bounds_;
  EnvelopeReader envelopes_;
  WebTextReader text_;
  size_t messages_ = 0;
};

// The daemon's message as a piece of the answer's body. INTERNAL when it can't
// be written as JSON.
absl::StatusOr<std::string> StreamMessage(const CallHead& call,
                                          std::string_view message);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_CONNECT_STREAM_H_
