#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/mcp/http/http_message.h"
#include "client/mcp/http/listen_address.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// How much clients may send, and how long they may take.
struct HttpBounds {
  size_t head_bytes = 32 << 10;
  size_t body_bytes = 8 << 20;
  // For a whole request, for a client that reads nothing of an answer, and for
  // one that sends no further request. Then the connection is closed.
  absl::Duration patience = absl::Seconds(30);
  // At a time. As many again are told to come back later.
  size_t connections = 64;
};

// Serves HTTP/1.1 and 1.0 on this thread, with another for each answer whose
// work is under way, until the signal is set; then cancels all work and returns
// when it has ended. `listening` is called once clients can connect, with an
// address such as "127.0.0.1:43210". The error says that it can't listen there,
// and why.
absl::Status ServeHttp(
    const ListenAddress& address, const HttpBounds& bounds,
    const HttpService& service, const StopSignal& stop,
    const std::function<void(const std::string& address)>& listening);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_SERVER_H_
