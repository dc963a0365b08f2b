#include "tests/e2e/gateway/http_caller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/slowdown.h"

namespace sandglass::testing {
namespace {

os::Fd Connect(int port, const std::string& from) {
  os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &own.sin_addr);
  (void)::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own),
               sizeof(own));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
    socket.reset();
  }
  return socket;
}

}  // namespace

std::string HttpReply::Header(const std::string& name) const {
  const std::string begin = absl::StrCat("\r\n", name, ": ");
  const size_t at = head.find(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return head.substr(from, head.find("\r\n", from) - from);
}

HttpCaller::HttpCaller(int port, const std::string& roots,
                       const std::string& token,
                       const std::vector<std::string>& protocols,
                       const std::string& from)
    : socket_(Connect(port, from)), token_(token) {
  // OpenSSL writes to connections that the other side has ended.
  ::signal(SIGPIPE, SIG_IGN);
  if (!socket_.valid()) return;
  tls_.emplace(socket_.get(), TestClient(roots, protocols));
  connected_ = tls_->Connect("localhost");
}

std::string HttpCaller::ReadHead() {
  return absl::AsciiStrToLower(tls_->ReceiveUntil("\r\n\r\n"));
}

std::string HttpCaller::ReadChunk() {
  size_t size = 0;
  const std::string line = tls_->ReceiveUntil("\r\n");
  if (!absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &size)) return "";
  std::string chunk = tls_->Receive(size + 2);
  chunk.resize(std::min(size, chunk.size()));
  return chunk;
}

HttpReply HttpCaller::Read(bool headless) {
  HttpReply reply{.head = ReadHead()};
  constexpr size_t kStatusAt = 9;
  if (reply.head.size() < kStatusAt + 3 ||
      !absl::SimpleAtoi(reply.head.substr(kStatusAt, 3), &reply.status)) {
    return {};
  }
  size_t length = 0;
  if (headless) return reply;
  if (reply.Header("transfer-encoding") == "chunked") {
    while (true) {
      const std::string chunk = ReadChunk();
      if (chunk.empty()) return reply;
      reply.body += chunk;
    }
  }
  if (absl::SimpleAtoi(reply.Header("content-length"), &length)) {
    reply.body = tls_->Receive(length);
  } else if (absl::StrContains(reply.head, "connection: close")) {
    reply.body = tls_->ReceiveAll();
  }
  return reply;
}

std::string HttpCaller::PostBytes(const std::string& path,
                                  const std::string& body,
                                  const std::string& headers) const {
  return absl::StrCat(
      "POST ", path, " HTTP/1.1\r\nhost: localhost\r\n", headers,
      token_.empty() ? ""
                     : absl::StrCat("authorization: Bearer ", token_, "\r\n"),
      "content-length: ", body.size(), "\r\n\r\n", body);
}

HttpReply HttpCaller::Post(const std::string& path, const std::string& body,
                           const std::string& headers) {
  Send(PostBytes(path, body, headers));
  return Read();
}

HttpReply HttpCaller::Get(const std::string& path, const std::string& headers) {
  Send(absl::StrCat(
      "GET ", path, " HTTP/1.1\r\nhost: localhost\r\n", headers,
      token_.empty() ? ""
                     : absl::StrCat("authorization: Bearer ", token_, "\r\n"),
      "\r\n"));
  return Read();
}

void HttpCaller::Break() {
  // Resets it, where an end would stand behind what can't be sent.
  const sockaddr none = {.sa_family = AF_UNSPEC, .sa_data = {}};
  ::connect(socket_.get(), &none, sizeof(none));
}

bool HttpCaller::Ends(absl::Duration time) {
  const absl::Time end = absl::Now() + time * Slowdown();
  while (absl::Now() < end) {
    pollfd readable = {socket_.get(), POLLIN, 0};
    if (::poll(&readable, 1, 100) <= 0) continue;
    if (tls_->Receive(1).empty()) return true;
  }
  return false;
}

std::string Envelope(std::string_view message, char flags) {
  std::string bytes(1, flags);
  const auto size = static_cast<uint32_t>(message.size());
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes.append(message);
}

}  // namespace sandglass::testing
