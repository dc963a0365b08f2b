#include "server/metrics/metrics_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxClients = 128;
constexpr int kAcceptsPerTurn = 32;
constexpr size_t kMaxHeadBytes = 8192;
// The time for one client, from its connection to the last byte of its answer.
constexpr absl::Duration kPatience = absl::Seconds(10);
// Of an answer that nobody reads, the kernel keeps no more than this.
constexpr int kSendBufferBytes = 128 << 10;
constexpr absl::Duration kBackOff = absl::Milliseconds(100);

// The first line and the end of the head tell enough; other lines are ignored.
std::string_view FirstLine(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string Response(std::string_view status, std::string_view body,
                     bool with_body) {
  return absl::StrCat(
      "HTTP/1.1 ", AbslView(status),
      "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"
      "\r\nContent-Length: ",
      body.size(), "\r\nConnection: close\r\n\r\n",
      with_body ? AbslView(body) : absl::string_view());
}

bool HasWholeHead(std::string_view request) {
  return request.find("\r\n\r\n") != std::string_view::npos ||
         request.find("\n\n") != std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    os::Fd listener, std::function<std::string()> text) {
  os::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return absl::UnavailableError(absl::StrCat("eventfd: ", ErrorText(errno)));
  }
  std::unique_ptr<MetricsServer> server(
      new MetricsServer(std::move(listener), std::move(wake), std::move(text)));
  server->thread_ = std::thread([raw = server.get()] { raw->Loop(); });
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void MetricsServer::Loop() {
  constexpr int kTickMs = 500;
  std::vector<pollfd> fds;
  while (true) {
    const bool may_accept = Now() >= accept_at_;
    fds.assign({{wake_.get(), POLLIN, 0},
                {may_accept ? listener_.get() : -1, POLLIN, 0}});
    for (const Client& client : clients_) {
      fds.push_back({client.fd.get(),
                     static_cast<short>(client.answered ? POLLOUT : POLLIN),
                     0});
    }
    ::poll(fds.data(), fds.size(),
           clients_.empty() && may_accept ? -1 : kTickMs);
    if (fds[0].revents != 0) return;
    const MonotonicTime too_long = Now() - absl::ToChronoNanoseconds(kPatience);
    std::list<Client> moved;  // those that have just moved a byte
    auto client = clients_.begin();
    for (size_t at = 2; at < fds.size(); ++at) {
      const auto here = client++;
      bool goes_on = here->since > too_long;
      if (goes_on && fds[at].revents != 0) {
        goes_on = here->answered ? Write(*here) : Read(*here);
        if (goes_on) moved.splice(moved.end(), clients_, here);
      }
      if (!goes_on) clients_.erase(here);
    }
    clients_.splice(clients_.end(), moved);
    if (fds[1].revents != 0) Accept();
  }
}

void MetricsServer::Accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    os::Fd connection(::accept4(listener_.get(), nullptr, nullptr,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        accept_at_ = After(Now(), kBackOff);
      }
      return;
    }
    ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes,
                 sizeof(kSendBufferBytes));
    if (clients_.size() >= kMaxClients) clients_.pop_front();
    clients_.push_back({.fd = std::move(connection), .since = Now()});
  }
}

bool MetricsServer::Read(Client& client) {
  std::array<char, kMaxHeadBytes> bytes{};
  const ssize_t got = ::recv(client.fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  client.request.append(bytes.data(), static_cast<size_t>(got));
  if (HasWholeHead(client.request)) {
    client.answer = Answer(client.request);
  } else if (client.request.size() >= kMaxHeadBytes) {
    client.answer = Response("431 Request Header Fields Too Large",
                             "the request's head is too long\n", true);
  } else {
    return true;
  }
  client.answered = true;
  client.request = std::string();
  return Write(client);
}

bool MetricsServer::Write(Client& client) {
  const ssize_t sent = ::send(client.fd.get(), client.answer.data(),
                              client.answer.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  client.answer.erase(0, static_cast<size_t>(sent));
  if (!client.answer.empty()) return true;
  ::shutdown(client.fd.get(), SHUT_WR);
  return false;
}

std::string MetricsServer::Answer(std::string_view head) const {
  const std::string_view line = FirstLine(head);
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  if (first == std::string_view::npos || second == first ||
      !absl::StartsWith(AbslView(line.substr(second + 1)), "HTTP/1.")) {
    return Response("400 Bad Request", "this is no HTTP/1 request\n", true);
  }
  const std::string_view method = line.substr(0, first);
  std::string_view path = line.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  const bool with_body = method != "HEAD";
  if (method != "GET" && with_body) {
    return Response("405 Method Not Allowed", "only GET is served\n", true);
  }
  if (path != "/metrics") {
    return Response("404 Not Found", "only /metrics is served\n", with_body);
  }
  return Response("200 OK", text_(), with_body);
}

}  // namespace sandglass::server
