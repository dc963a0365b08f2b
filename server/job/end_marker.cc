#include "server/job/end_marker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/base/strings.h"

namespace sandglass::server {

std::string_view EndMarker::Feed(std::string_view data) {
  if (word_.empty() || exit_code_ ||
      (kept_.empty() && data.find(word_.front()) == std::string_view::npos)) {
    return data;
  }
  text_ = std::exchange(kept_, {});
  text_ += data;
  for (size_t at = text_.find(word_.front()); at != std::string::npos;
       at = text_.find(word_.front(), at + 1)) {
    const std::optional<size_t> size =
        SizeAt(std::string_view(text_).substr(at));
    if (!size) continue;
    if (!exit_code_) kept_ = text_.substr(at);  // it may be the beginning
    text_.erase(at, *size);
    return text_;
  }
  return text_;
}

std::string_view EndMarker::Rest() {
  text_ = std::exchange(kept_, {});
  return text_;
}

std::optional<size_t> EndMarker::SizeAt(std::string_view text) {
  constexpr size_t kMaxDigits = 3;
  constexpr int kHighestCode = 255;
  const size_t common = std::min(text.size(), word_.size());
  if (text.substr(0, common) != std::string_view(word_).substr(0, common)) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(common);
  const size_t digits =
      std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits > kMaxDigits) return std::nullopt;
  if (digits == rest.size()) return text.size();
  int code = 0;
  const std::string_view number = rest.substr(0, digits);
  if (rest[digits] != '\n' || !absl::SimpleAtoi(AbslView(number), &code) ||
      code > kHighestCode) {
    return std::nullopt;
  }
  exit_code_ = code;
  return common + digits + 1;
}

}  // namespace sandglass::server
