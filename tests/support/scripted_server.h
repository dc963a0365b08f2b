#ifndef SANDGLASS_TESTS_SUPPORT_SCRIPTED_SERVER_H_
#define SANDGLASS_TESTS_SUPPORT_SCRIPTED_SERVER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

// What a client asked.
struct ScriptedRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// What it gets.
struct HttpReply {
  int status = 200;
  std::string content_type = "text/event-stream";
  std::vector<std::string> headers;  // "Name: value"
  // The body, one piece of a chunked answer each.
  std::vector<std::string> chunks;
  // False: the connection is closed before the body's end.
  bool whole = true;
  // False: the body ends with the connection and is not chunked.
  bool chunked = true;
  // Runs before a chunk is sent, with its number from 0; and once more before
  // the end. May block; must not for ever.
  std::function<void(size_t chunk)> before;
};

// An HTTP/1.1 server on loopback with a port of its own. Each connection has
// a thread. Thread-safe.
class ScriptedServer {
 public:
  using Handler = std::function<HttpReply(const ScriptedRequest& request)>;

  // Null when there is no socket to be had.
  static std::unique_ptr<ScriptedServer> Start(Handler handler);
  // These replies one after another; 500 when they are used up.
  static std::unique_ptr<ScriptedServer> Start(std::vector<HttpReply> replies);
  ~ScriptedServer();

  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // "http://127.0.0.1:4711".
  std::string url() const;
  std::vector<ScriptedRequest> requests() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t connections() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until a client has closed so many connections, for at most 10 s.
  bool WaitForClosed(size_t count) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ScriptedServer(UniqueFd listener, int port, Handler handler);
  void Accept() ABSL_LOCKS_EXCLUDED(mutex_);
  void Serve(int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  // False: the connection is over.
  bool ServeOne(int fd, std::string& unread) ABSL_LOCKS_EXCLUDED(mutex_);

  const UniqueFd listener_;
  const int port_;
  const Handler handler_;
  mutable absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  size_t closed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ScriptedRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::deque<UniqueFd> fds_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

// A reply that is one JSON document.
HttpReply JsonReply(int status, std::string_view body);

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_SUPPORT_SCRIPTED_SERVER_H_
