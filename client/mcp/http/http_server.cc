#include "client/mcp/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr int kBreathMs = 100;

// A client's thread, and whether it has finished.
struct Client {
  std::atomic<bool> done{false};
  std::thread thread;
};

absl::string_view WithoutBrackets(absl::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

// The address that the listening socket got.
std::string AddressOf(int fd) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  char host[INET6_ADDRSTRLEN] = "";
  if (bound.ss_family == AF_INET6) {
    sockaddr_in6 v6 = {};
    std::memcpy(&v6, &bound, sizeof(v6));
    inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
    return absl::StrCat("[", host, "]:", ntohs(v6.sin6_port));
  }
  sockaddr_in v4 = {};
  std::memcpy(&v4, &bound, sizeof(v4));
  inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
  return absl::StrCat(host, ":", ntohs(v4.sin_port));
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  const std::string bare(WithoutBrackets(host));
  in_addr v4 = {};
  if (inet_pton(AF_INET, bare.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  in6_addr v6 = {};
  return inet_pton(AF_INET6, bare.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", VisibleText(text),
                     "' is no address to listen on: write 127.0.0.1:PORT"));
  }
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  const std::string bare(WithoutBrackets(host));
  ListenAddress address;
  address.loopback = IsLoopbackHost(host);
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&address.socket_address, &v4, sizeof(v4));
    address.length = sizeof(v4);
  } else if (bare != host &&
             inet_pton(AF_INET6, bare.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&address.socket_address, &v6, sizeof(v6));
    address.length = sizeof(v6);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", VisibleText(host),
        "' is no IP address; names are not looked up, but for localhost"));
  }
  return address;
}

HttpServer::HttpServer(UniqueFd listener, std::string address,
                       const HttpBounds& bounds, Handler handler)
    : listener_(std::move(listener)),
      address_(std::move(address)),
      bounds_(bounds),
      handler_(std::move(handler)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const ListenAddress& address, const HttpBounds& bounds, Handler handler) {
  UniqueFd fd(socket(address.socket_address.ss_family,
                     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!fd.valid() ||
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.socket_address),
           address.length) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    return absl::ErrnoToStatus(errno, "cannot listen for HTTP");
  }
  std::string name = AddressOf(fd.get());
  return absl::WrapUnique(new HttpServer(std::move(fd), std::move(name), bounds,
                                         std::move(handler)));
}

void HttpServer::Serve(const StopSignal& stop) {
  std::list<Client> clients;
  for (;;) {
    pollfd pollers[] = {{listener_.get(), POLLIN, 0}, {stop.fd(), POLLIN, 0}};
    if (poll(pollers, 2, -1) < 0 && errno != EINTR) break;
    if (pollers[1].revents != 0) break;
    UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    clients.remove_if([](Client& client) {
      if (!client.done) return false;
      client.thread.join();
      return true;
    });
    if (!accepted.valid()) {
      // For example when there are no descriptors left: don't retry in a tight
      // loop.
      if (errno != EAGAIN) poll(&pollers[1], 1, kBreathMs);
      continue;
    }
    if (clients.size() >= 2 * kMostConnections) continue;
    Client& client = clients.emplace_back();
    const bool full = clients.size() > kMostConnections;
    client.thread = std::thread(
        [this, &client, &stop, full, fd = std::move(accepted)]() mutable {
          HttpConnection connection(std::move(fd), bounds_, stop);
          if (full) {
            connection.Write(HttpText({.status = 503,
                                       .content_type = "text/plain",
                                       .body = "too many connections\n",
                                       .headers = {{"Retry-After", "1"}}}));
          } else {
            handler_(connection);
          }
          client.done = true;
        });
  }
  for (Client& client : clients) client.thread.join();
}

}  // namespace sandglass::client
