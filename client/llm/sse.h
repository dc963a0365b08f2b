#ifndef SANDGLASS_CLIENT_LLM_SSE_H_
#define SANDGLASS_CLIENT_LLM_SSE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace sandglass::client {

struct SseEvent {
  std::string name;  // empty: none was given
  std::string data;  // its lines, with '\n' between them
};

// Reads server-sent events from chunks of any size: lines that end in "\r\n",
// '\n' or '\r', a byte order mark, comments, events of several lines. Events
// without data, such as keep-alives, are skipped. Not thread-safe.
class SseParser {
 public:
  // Called for each event; its error ends the reading.
  using OnEvent = std::function<absl::Status(const SseEvent& event)>;

  // `max_bytes` is the limit for one line and for one event's data.
  SseParser(size_t max_bytes, OnEvent on_event)
      : max_bytes_(max_bytes), on_event_(std::move(on_event)) {}

  // RESOURCE_EXHAUSTED: a line or an event is too large. Also returns
  // on_event's errors.
  absl::Status Feed(std::string_view bytes);

  // Call at the stream's end: an event that no blank line has ended counts too.
  absl::Status Finish();

 private:
  absl::Status OnLine();
  absl::Status Dispatch();

  const size_t max_bytes_;
  const OnEvent on_event_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_return_ = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_SSE_H_
