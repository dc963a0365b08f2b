#ifndef SANDGLASS_SERVER_METRICS_METRICS_SERVER_H_
#define SANDGLASS_SERVER_METRICS_METRICS_SERVER_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"

namespace sandglass::server {

// Answers GET /metrics over HTTP/1, one request per connection, with one
// thread. Anybody who can connect may ask, so no client can hold up others: one
// that sends nothing, sends slowly or reads slowly only takes one of a few
// places. When all places are taken, the client that has neither sent nor read
// anything for the longest time is dropped for a new one.
class MetricsServer {
 public:
  // `listener` is a listening, non-blocking socket. `text` returns the metrics;
  // the server's thread calls it until the server is destroyed.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      os::Fd listener, std::function<std::string()> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  struct Client {
    os::Fd fd;
    MonotonicTime since;
    std::string request;
    std::string answer;  // the part that isn't sent yet
    bool answered = false;
  };

  MetricsServer(os::Fd listener, os::Fd wake, std::function<std::string()> text)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        text_(std::move(text)) {}
  void Loop();
  void Accept();
  // These return false when the client is done with.
  bool Read(Client& client);
  bool Write(Client& client);
  std::string Answer(std::string_view head) const;

  os::Fd listener_;
  os::Fd wake_;
  const std::function<std::string()> text_;
  std::list<Client> clients_;  // by their last byte, the longest silent first
  MonotonicTime accept_at_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_METRICS_METRICS_SERVER_H_
