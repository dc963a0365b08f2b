#ifndef SANDGLASS_CLIENT_LLM_HTTP_TRANSPORT_H_
#define SANDGLASS_CLIENT_LLM_HTTP_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace sandglass::client {

struct TransferBounds {
  absl::Duration connect_timeout = absl::Seconds(15);
  absl::Duration silence_timeout = absl::Minutes(5);
  size_t max_bytes = size_t{16} << 20;  // of an answer's body
  std::string ca_file;                  // besides the host's; empty: none
};

struct HttpPost {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // JSON
};

struct HttpAnswer {
  // OK: an answer of any status arrived to its end, or as much of it as was
  // wanted. CANCELLED. UNAVAILABLE: no answer. DATA_LOSS: the answer broke off.
  // DEADLINE_EXCEEDED: silence. RESOURCE_EXHAUSTED: the answer is too large. Or
  // the error of on_bytes.
  absl::Status result;
  // Whether result is UNAVAILABLE or DATA_LOSS and another attempt may succeed.
  bool retry = false;
  long status = 0;  // HTTP status; 0: none arrived
  std::string content_type;
  std::string location;
  std::string error_body;  // if the status isn't 2xx; its first 64 KiB
  // What the server says about another attempt.
  std::optional<absl::Duration> retry_after;  // 0 to 60 s
  std::optional<bool> should_retry;
};

enum class HttpNext { kMore, kEnough };

// Sends POST requests one after another and reuses connections. Follows no
// redirections, because what is sent contains a key. Proxies come from the
// environment, as for curl. Not thread-safe.
class HttpTransport {
 public:
  // FAILED_PRECONDITION: libcurl isn't installed.
  static absl::StatusOr<std::unique_ptr<HttpTransport>> Create(
      TransferBounds bounds);
  virtual ~HttpTransport() = default;

  // `on_bytes` is called with the body of a 2xx answer as it arrives. After
  // kEnough the rest doesn't matter. `cancel` is checked every 50 ms.
  using OnBytes =
      std::function<absl::StatusOr<HttpNext>(std::string_view bytes)>;
  virtual HttpAnswer Post(const HttpPost& post, const OnBytes& on_bytes,
                          const std::atomic<bool>& cancel) = 0;
};

// The wait that "Retry-After" asks for: seconds, or a date relative to `now`.
// At most 60 s; nullopt when it is neither.
std::optional<absl::Duration> ParseRetryAfter(std::string_view value,
                                              absl::Time now);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_HTTP_TRANSPORT_H_
