#include "gateway/connect/envelope.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gateway/connect/connect_errors.h"
#include "server/base/errors.h"

namespace sandglass::gateway {

void AppendEnvelope(uint8_t flags, std::string_view message, std::string& out) {
  constexpr int kByte = 8;
  const auto length = static_cast<uint32_t>(message.size());
  out.push_back(static_cast<char>(flags));
  for (int shift = 3 * kByte; shift >= 0; shift -= kByte) {
    out.push_back(static_cast<char>(length >> shift));
  }
  out.append(message);
}

bool EnvelopeReader::ReadHead() {
  uint32_t length = 0;
  for (size_t i = 1; i < kEnvelopeHead; ++i) length = length << 8 | head_[i];
  length_ = length;
  const uint8_t flags = head_[0];
  if (flags == kCompressedFlag && compression_ == Compression::kNone) {
    refusal_ = BadEnvelope(
        "says that a message is compressed, and the stream names no "
        "compression: send it as it is");
  } else if (flags != kMessageFlags && flags != kCompressedFlag) {
    refusal_ = BadEnvelope(absl::StrCat("has the flags ", flags,
                                        " where a request's messages have 0"));
  } else if (length_ > max_bytes_) {
    refusal_ = server::MessageTooLarge(length_, max_bytes_);
  }
  return refusal_.ok();
}

EnvelopeReader::State EnvelopeReader::Feed(std::string_view& data) {
  if (!refusal_.ok()) return State::kRefused;
  if (whole_) {
    whole_ = false;
    message_.clear();
    head_bytes_ = 0;
  }
  while (head_bytes_ < kEnvelopeHead) {
    if (data.empty()) return State::kMore;
    head_[head_bytes_++] = static_cast<uint8_t>(data[0]);
    data.remove_prefix(1);
    if (head_bytes_ == kEnvelopeHead && !ReadHead()) return State::kRefused;
  }
  const size_t taken = std::min(data.size(), length_ - message_.size());
  message_.append(data.substr(0, taken));
  data.remove_prefix(taken);
  whole_ = message_.size() == length_;
  return whole_ ? State::kMessage : State::kMore;
}

absl::Status EnvelopeReader::Finish() const {
  if (!refusal_.ok()) return refusal_;
  if (whole_ || head_bytes_ == 0) return absl::OkStatus();
  if (head_bytes_ < kEnvelopeHead) {
    return BadEnvelope("ends within the head of a message");
  }
  return BadEnvelope(absl::StrCat("ends after ", message_.size(),
                                  " bytes of a message that says to have ",
                                  length_));
}

}  // namespace sandglass::gateway
