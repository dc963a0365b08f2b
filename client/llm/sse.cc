#include "client/llm/sse.h"

#include "absl/strings/str_cat.h"

namespace sandglass::client {

absl::Status SseParser::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (piece.size() > max_bytes_ - line_.size()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a line of the stream has more than ", max_bytes_, " bytes"));
    }
    line_.append(piece);
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (absl::Status status = OnLine(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SseParser::Finish() {
  if (!line_.empty()) {
    if (absl::Status status = OnLine(); !status.ok()) return status;
  }
  return Dispatch();
}

absl::Status SseParser::OnLine() {
  const std::string whole = std::exchange(line_, {});
  std::string_view line = whole;
  if (std::exchange(first_line_, false) &&
      line.substr(0, 3) == "\xEF\xBB\xBF") {
    line.remove_prefix(3);
  }
  if (line.empty()) return Dispatch();
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) {
    value = line.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  }
  if (field == "event") event_.name = value;
  if (field != "data") return absl::OkStatus();
  if (value.size() + 1 > max_bytes_ - event_.data.size()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "an event of the stream has more than ", max_bytes_, " bytes"));
  }
  if (has_data_) event_.data += '\n';
  has_data_ = true;
  event_.data.append(value);
  return absl::OkStatus();
}

absl::Status SseParser::Dispatch() {
  const SseEvent event = std::exchange(event_, {});
  if (!std::exchange(has_data_, false)) return absl::OkStatus();
  return on_event_(event);
}

}  // namespace sandglass::client
