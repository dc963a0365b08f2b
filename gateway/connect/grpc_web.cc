#include "gateway/connect/grpc_web.h"

#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gateway/connect/base64.h"
#include "gateway/connect/connect_errors.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;

constexpr size_t kGroup = 4;  // characters of base64 for three bytes

// gRPC's Percent-Encoded: what is no printable ASCII, and "%" itself.
std::string PercentEncoded(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kHex[byte >> 4], kHex[byte & 0xf]};
  }
  return encoded;
}

}  // namespace

std::string TrailersBlock(const CallStatus& status,
                          const HeaderFields& trailing) {
  std::string block = absl::StrCat("grpc-status: ", status.code, "\r\n");
  if (!status.message.empty()) {
    absl::StrAppend(&block, "grpc-message: ", PercentEncoded(status.message),
                    "\r\n");
  }
  if (!status.details.empty()) {
    absl::StrAppend(&block,
                    "grpc-status-details-bin: ", UnpaddedBase64(status.details),
                    "\r\n");
  }
  for (const HeaderField& field : AnswerHeaders(trailing)) {
    absl::StrAppend(&block, field.name, ": ", field.value, "\r\n");
  }
  return block;
}

absl::StatusOr<std::string> WebTextReader::Feed(std::string_view text) {
  rest_.append(text);
  std::string_view whole(rest_.data(), rest_.size() / kGroup * kGroup);
  const size_t taken = whole.size();
  std::string bytes;
  while (!bad_ && !whole.empty()) {
    // Up to the group that has padding, or all.
    const size_t padding = whole.find('=');
    const size_t end = padding == std::string_view::npos
                           ? whole.size()
                           : (padding / kGroup + 1) * kGroup;
    const std::optional<std::string> part = DecodeBase64(whole.substr(0, end));
    whole.remove_prefix(end);
    bad_ = !part.has_value();
    if (!bad_) bytes += *part;
  }
  rest_.erase(0, taken);
  if (bad_) return BadEnvelope("is not base64, as grpc-web-text has to be");
  return bytes;
}

absl::Status WebTextReader::Finish() const {
  if (bad_) return BadEnvelope("is not base64, as grpc-web-text has to be");
  if (rest_.empty()) return absl::OkStatus();
  return BadEnvelope("ends within a group of four characters of base64");
}

std::string WebText(std::string_view bytes) {
  return absl::Base64Escape(AbslView(bytes));
}

}  // namespace sandglass::gateway
