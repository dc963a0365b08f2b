#include "gateway/connect/stream.h"

#include <utility>

#include "gateway/connect/connect_errors.h"
#include "gateway/connect/gzip.h"
#include "gateway/connect/unary.h"

namespace sandglass::gateway {

StreamReader::StreamReader(const CallHead& call, const JsonBounds& bounds)
    : call_(call),
      bounds_(bounds),
      envelopes_(bounds.bytes, call.gzip ? EnvelopeReader::Compression::kNamed
                                         : EnvelopeReader::Compression::kNone) {
}

absl::Status StreamReader::Feed(std::string_view data,
                                std::vector<std::string>& messages) {
  if (call_.wire.protocol != Protocol::kGrpcWebText) {
    return Take(data, messages);
  }
  const absl::StatusOr<std::string> bytes = text_.Feed(data);
  if (!bytes.ok()) return bytes.status();
  return Take(*bytes, messages);
}

absl::Status StreamReader::Take(std::string_view bytes,
                                std::vector<std::string>& messages) {
  for (;;) {
    const EnvelopeReader::State state = envelopes_.Feed(bytes);
    if (state == EnvelopeReader::State::kRefused) return envelopes_.refusal();
    if (state == EnvelopeReader::State::kMore) return absl::OkStatus();
    if (++messages_ > 1 && !call_.method->client_streams) {
      return BadEnvelope("has a second message, and the method takes one");
    }
    absl::StatusOr<std::string> content = std::move(envelopes_.message());
    if (envelopes_.compressed()) content = Gunzip(*content, bounds_.bytes);
    if (!content.ok()) return content.status();
    absl::StatusOr<std::string> message =
        RequestMessage(call_, *content, bounds_);
    if (!message.ok()) return message.status();
    messages.push_back(*std::move(message));
  }
}

absl::Status StreamReader::Finish() const {
  if (absl::Status text = text_.Finish(); !text.ok()) return text;
  if (absl::Status end = envelopes_.Finish(); !end.ok()) return end;
  if (messages_ == 0 && !call_.method->client_streams) {
    return BadEnvelope("has no message, and the method takes one");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StreamMessage(const CallHead& call,
                                          std::string_view message) {
  const absl::StatusOr<std::string> content = AnswerMessage(call, message);
  if (!content.ok()) return content.status();
  std::string out;
  AppendEnvelope(kMessageFlags, *content, out);
  return call.wire.protocol == Protocol::kGrpcWebText ? WebText(out) : out;
}

}  // namespace sandglass::gateway
