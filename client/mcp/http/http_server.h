#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/unique_fd.h"
#include "client/mcp/http/http_connection.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// The address on which to listen.
struct ListenAddress {
  sockaddr_storage socket_address = {};
  socklen_t length = 0;
  bool loopback = false;
};

// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080" (127.0.0.1); with
// port 0 a free port is used. Never asks a name server.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// Whether the host is only this machine: "localhost", 127.0.0.0/8, "::1"; an
// IPv6 address may be in brackets.
bool IsLoopbackHost(absl::string_view host);

// Listens, and serves each connection on a thread of its own, at most
// kMostConnections at a time.
class HttpServer {
 public:
  static constexpr size_t kMostConnections = 64;
  // Serves the connection's one request; called on the connection's thread.
  using Handler = std::function<void(HttpConnection& connection)>;

  // The error says that it can't listen there, and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      const ListenAddress& address, const HttpBounds& bounds, Handler handler);

  // For example "127.0.0.1:43210", with the actual port.
  const std::string& address() const { return address_; }

  // Serves until the signal is set and all handlers have returned.
  void Serve(const StopSignal& stop);

 private:
  HttpServer(UniqueFd listener, std::string address, const HttpBounds& bounds,
             Handler handler);

  const UniqueFd listener_;
  const std::string address_;
  const HttpBounds bounds_;
  const Handler handler_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_
