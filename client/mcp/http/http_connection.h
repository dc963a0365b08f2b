#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_CONNECTION_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_CONNECTION_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/base/unique_fd.h"
#include "client/mcp/http/http_message.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// How much a client may send, and how long it may take.
struct HttpBounds {
  size_t head_bytes = 32 << 10;
  size_t body_bytes = 8 << 20;
  // For a whole request, and for a client that reads nothing of an answer.
  absl::Duration patience = absl::Seconds(30);
};

// One request over one connection, whose client may go away at any time. Not
// thread-safe.
class HttpConnection {
 public:
  HttpConnection(UniqueFd connection, const HttpBounds& bounds,
                 const StopSignal& stop);

  // Reads what precedes the body. Returns 0, or the HTTP status that says what
  // is wrong with it; -1 when nobody is there to be told.
  int ReadHead(HttpRequest& request);
  // Reads the body; returns the same.
  int ReadBody(HttpRequest& request);

  // Returns false when the client is gone.
  bool Write(absl::string_view bytes);

  enum class Event { kWoken, kClosed, kNothing };
  // Waits until `wake` is readable, until the client has closed its side or the
  // signal is set (both kClosed), or until the time is over.
  Event Wait(const UniqueFd& wake, absl::Duration most);

  // Ends an answer in such a way that a client that is still sending receives
  // it.
  void Finish();

 private:
  // Reads some bytes. Returns 0, or an error as ReadHead does.
  int ReadSome();

  const UniqueFd connection_;
  const HttpBounds bounds_;
  const StopSignal& stop_;
  const absl::Time deadline_;
  std::string received_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_CONNECTION_H_
