#include "client/base/utf8_check.h"

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {

absl::Status CheckUtf8(absl::string_view what, absl::string_view text) {
  const size_t bad = FindInvalidUtf8(text);
  if (bad == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is not UTF-8 (byte ", bad, ")"));
}

absl::Status CheckUtf8(
    absl::string_view flag,
    const google::protobuf::Map<std::string, std::string>& pairs) {
  absl::Status status;
  for (const auto& [name, value] : pairs) {
    status.Update(CheckUtf8(flag, absl::string_view(name)));
    status.Update(CheckUtf8(absl::StrCat(flag, " ", VisibleText(name)),
                            absl::string_view(value)));
  }
  return status;
}

size_t WholeCharacters(absl::string_view text, size_t max) {
  if (max >= text.size()) return text.size();
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) {
    --max;
  }
  return max;
}

}  // namespace sandglass::client
