#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace sandglass::client {
namespace {

bool SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

// Reads until `unread` has so many bytes.
bool ReadTo(int fd, std::string& unread, size_t size) {
  char buffer[16384];
  while (unread.size() < size) {
    const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    unread.append(buffer, static_cast<size_t>(count));
  }
  return true;
}

std::optional<ScriptedRequest> ReadRequest(int fd, std::string& unread) {
  size_t end = unread.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!ReadTo(fd, unread, unread.size() + 1)) return std::nullopt;
    end = unread.find("\r\n\r\n");
  }
  ScriptedRequest request;
  const std::vector<std::string> lines =
      absl::StrSplit(unread.substr(0, end), "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3) return std::nullopt;
  request.method = words[0];
  request.path = words[1];
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    request.headers[absl::AsciiStrToLower(header.first)] =
        std::string(absl::StripAsciiWhitespace(header.second));
  }
  unread.erase(0, end + 4);
  size_t length = 0;
  (void)absl::SimpleAtoi(request.headers["content-length"], &length);
  if (!ReadTo(fd, unread, length)) return std::nullopt;
  request.body = unread.substr(0, length);
  unread.erase(0, length);
  return request;
}

std::string Head(const HttpReply& reply) {
  std::string head =
      absl::StrCat("HTTP/1.1 ", reply.status,
                   " Scripted\r\nContent-Type: ", reply.content_type, "\r\n");
  absl::StrAppend(&head, reply.chunked ? "Transfer-Encoding: chunked\r\n"
                                       : "Connection: close\r\n");
  for (const std::string& header : reply.headers) {
    absl::StrAppend(&head, header, "\r\n");
  }
  return absl::StrCat(head, "\r\n");
}

// False: the connection is over.
bool Send(int fd, const HttpReply& reply) {
  if (!SendAll(fd, Head(reply))) return false;
  const auto before = [&](size_t chunk) {
    if (reply.before) reply.before(chunk);
  };
  for (size_t i = 0; i < reply.chunks.size(); ++i) {
    before(i);
    const std::string& chunk = reply.chunks[i];
    if (!SendAll(fd, reply.chunked ? absl::StrCat(absl::Hex(chunk.size()),
                                                  "\r\n", chunk, "\r\n")
                                   : chunk)) {
      return false;
    }
  }
  before(reply.chunks.size());
  if (!reply.whole || !reply.chunked) return false;
  return SendAll(fd, "0\r\n\r\n");
}

}  // namespace

std::unique_ptr<ScriptedServer> ScriptedServer::Start(Handler handler) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener.valid() || bind(listener.get(), generic, size) != 0 ||
      listen(listener.get(), 16) != 0 ||
      getsockname(listener.get(), generic, &size) != 0) {
    return nullptr;
  }
  return std::unique_ptr<ScriptedServer>(new ScriptedServer(
      std::move(listener), ntohs(address.sin_port), std::move(handler)));
}

std::unique_ptr<ScriptedServer> ScriptedServer::Start(
    std::vector<HttpReply> replies) {
  struct Script {
    absl::Mutex mutex;
    std::deque<HttpReply> replies;
  };
  auto script = std::make_shared<Script>();
  script->replies.assign(replies.begin(), replies.end());
  return Start([script](const ScriptedRequest&) {
    const absl::MutexLock lock(&script->mutex);
    if (script->replies.empty()) {
      return JsonReply(500, R"({"error":{"message":"the script is over"}})");
    }
    HttpReply reply = std::move(script->replies.front());
    script->replies.pop_front();
    return reply;
  });
}

ScriptedServer::ScriptedServer(UniqueFd listener, int port, Handler handler)
    : listener_(std::move(listener)),
      port_(port),
      handler_(std::move(handler)),
      acceptor_([this] { Accept(); }) {}

ScriptedServer::~ScriptedServer() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
    for (const UniqueFd& fd : fds_) shutdown(fd.get(), SHUT_RDWR);
  }
  // Ends the call of accept.
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  std::vector<std::thread> threads;
  {
    const absl::MutexLock lock(&mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string ScriptedServer::url() const {
  return absl::StrCat("http://127.0.0.1:", port_);
}

std::vector<ScriptedRequest> ScriptedServer::requests() const {
  const absl::MutexLock lock(&mutex_);
  return requests_;
}

size_t ScriptedServer::connections() const {
  const absl::MutexLock lock(&mutex_);
  return fds_.size();
}

bool ScriptedServer::WaitForClosed(size_t count) const {
  const absl::MutexLock lock(&mutex_);
  const auto enough = [this, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return closed_ >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(10));
}

void ScriptedServer::Accept() {
  while (true) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    const absl::MutexLock lock(&mutex_);
    if (ending_) return;
    const int number = fd.get();
    fds_.push_back(std::move(fd));
    threads_.emplace_back([this, number] { Serve(number); });
  }
}

void ScriptedServer::Serve(int fd) {
  std::string unread;
  while (ServeOne(fd, unread)) {
  }
  shutdown(fd, SHUT_WR);
  // Until the client has closed it too.
  while (ReadTo(fd, unread, unread.size() + 1)) {
  }
  const absl::MutexLock lock(&mutex_);
  ++closed_;
}

bool ScriptedServer::ServeOne(int fd, std::string& unread) {
  std::optional<ScriptedRequest> request = ReadRequest(fd, unread);
  if (!request.has_value()) return false;
  {
    const absl::MutexLock lock(&mutex_);
    requests_.push_back(*request);
  }
  return Send(fd, handler_(*request));
}

HttpReply JsonReply(int status, std::string_view body) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = "application/json";
  reply.chunks = {std::string(body)};
  return reply;
}

}  // namespace sandglass::client
