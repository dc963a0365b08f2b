#ifndef SANDGLASS_SERVER_OPS_METRICS_SERVER_H_
#define SANDGLASS_SERVER_OPS_METRICS_SERVER_H_

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

// Answers GET /metrics over HTTP/1, one request a connection, with one thread.
// Anybody who can connect may: so nobody holds anything up. Who sends nothing,
// or slowly, or reads slowly costs one of a few places. When all are taken
// the one that has neither sent nor read anything for the longest time gives
// way to whoever comes.
class MetricsServer {
 public:
  // `listener` is a listening, non-blocking socket. `text` gives the metrics;
  // it is called by the server's thread until the server is gone.
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
    std::string answer;  // what is left of it
    bool answered = false;
  };

  MetricsServer(os::Fd listener, os::Fd wake, std::function<std::string()> text)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        text_(std::move(text)) {}
  void Loop();
  void Accept();
  // False: it is over.
  bool Read(Client& client);
  bool Write(Client& client);
  std::string Answer(std::string_view head) const;

  os::Fd listener_;
  os::Fd wake_;
  const std::function<std::string()> text_;
  std::list<Client> clients_;  // by their last byte, the longest ago first
  MonotonicTime accept_at_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_METRICS_SERVER_H_
