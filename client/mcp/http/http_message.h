#ifndef SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_
#define SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

// Requests and answers of HTTP as values, without a connection.
namespace sandglass::client {

struct HttpRequest {
  std::string method;
  std::string path;  // the target before its query
  // Names in lower case; values without surrounding spaces.
  std::multimap<std::string, std::string> headers;
  std::string body;

  // The value of a header, whose name is given in lower case; nullopt unless it
  // occurs exactly once.
  std::optional<std::string> Header(const std::string& name) const {
    if (headers.count(name) != 1) return std::nullopt;
    return headers.find(name)->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::map<std::string, std::string> headers;
  std::string body;
};

// Work whose result is an answer's body.
class HttpWork {
 public:
  using Send = std::function<void(std::string piece)>;

  virtual ~HttpWork() = default;
  // Does the work and returns the body; of a stream, what follows the pieces
  // that were given to `send` on this thread. Called once, on a thread of its
  // own.
  virtual std::string Do(const Send& send) = 0;
  // Nobody waits for the result any more: Do should return soon. Called at most
  // once, from another thread.
  virtual void Cancel() = 0;
};

struct HttpReply {
  HttpResponse response;
  // If there is any, the response's body comes from it.
  std::unique_ptr<HttpWork> work;
  // Not empty: the body is a stream, whose pieces are sent as they come, and
  // this piece, which has no meaning, after 15 s without one, so that proxies
  // keep the connection.
  std::string filler;
};

// What gives the answers. Its functions are called on the server's one thread,
// so they must not wait for anything.
class HttpService {
 public:
  virtual ~HttpService() = default;
  // The answer to a request that is refused before its body is read.
  virtual std::optional<HttpResponse> Refusal(
      const HttpRequest& request) const = 0;
  // The answer to a request that can't be read: 400, 411 (no length), 413 (body
  // too long) or 431 (head too long); 503 when there are too many connections.
  virtual HttpResponse Failure(int status) const = 0;
  // The answer to a whole request.
  virtual HttpReply Answer(const HttpRequest& request) const = 0;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_HTTP_MESSAGE_H_
