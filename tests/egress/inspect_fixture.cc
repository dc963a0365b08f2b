#include "tests/egress/inspect_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "absl/strings/match.h"
#include "sandbox/egress/parse/dns_message.h"

namespace sandglass::egress {
namespace {

policy::AllowedHost Rule(std::string_view pattern,
                         std::vector<std::string> secrets = {},
                         std::vector<std::string> methods = {}) {
  return {.host = *policy::HostPattern::Parse(pattern),
          .ports = {{80, 80}, {443, 443}, {8443, 8443}},
          .inspect = true,
          .methods = std::move(methods),
          .secrets = std::move(secrets)};
}

std::string LocalAddress(int socket) {
  sockaddr_in own = {};
  socklen_t size = sizeof(own);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size);
  std::array<char, INET_ADDRSTRLEN> text = {};
  ::inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size());
  return text.data();
}

// The body that follows a head, of either end.
template <typename Receive>
std::string Body(const std::string& head, Receive receive) {
  const size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? ""
                                 : receive(std::stoul(head.substr(at + 16)));
}

}  // namespace

InspectTest::InspectTest()
    : names_({{"inspected.test", {"93.184.216.34"}},
              {"other.test", {"93.184.216.35"}},
              {"deep.of.suffix.test", {"93.184.216.36"}},
              {"methods.test", {"93.184.216.37"}},
              {"plain.test", {"93.184.216.38"}},
              {"expired.test", {"93.184.216.40"}},
              {"future.test", {"93.184.216.41"}},
              {"wrong.test", {"93.184.216.42"}},
              {"untrusted.test", {"93.184.216.43"}},
              {"h2.test", {"93.184.216.44"}},
              {"old.test", {"93.184.216.45"}},
              {"silent.test", {"93.184.216.46"}},
              {"inner.test", {"10.0.0.1"}}}) {
  const auto good = [&](const char* address, const std::string& name) {
    contexts_[address] = issuer_.Server({.names = name});
  };
  good("93.184.216.34", "DNS:inspected.test");
  good("93.184.216.35", "DNS:other.test");
  good("93.184.216.36", "DNS:*.of.suffix.test");
  good("93.184.216.37", "DNS:methods.test");
  good("93.184.216.50", "IP:93.184.216.50");
  good("93.184.216.42", "DNS:somebody.test");
  contexts_["93.184.216.40"] = issuer_.Server({.names = "DNS:expired.test",
                                               .from = -absl::Hours(2),
                                               .until = -absl::Hours(1)});
  contexts_["93.184.216.41"] = issuer_.Server({.names = "DNS:future.test",
                                               .from = absl::Hours(1),
                                               .until = absl::Hours(2)});
  contexts_["93.184.216.43"] =
      stranger_.Server({.names = "DNS:untrusted.test"});
  contexts_["93.184.216.44"] =
      issuer_.Server({.names = "DNS:h2.test", .protocol = "h2"});
  contexts_["93.184.216.45"] =
      issuer_.Server({.names = "DNS:old.test", .version = TLS1_1_VERSION});
}

InspectTest::~InspectTest() {
  proxy_.reset();
  https_.reset();
  http_.reset();
}

void InspectTest::SetUp() {
  ASSERT_TRUE(jail_.valid()) << "needs root: network namespaces";
  policy_.profile = "p";
  policy_.hosts = {Rule("inspected.test", {"API_KEY", "NO_VALUE"}),
                   Rule("other.test"),
                   Rule("*.suffix.test"),
                   Rule("methods.test", {}, {"GET", "HEAD"}),
                   Rule("expired.test"),
                   Rule("future.test"),
                   Rule("wrong.test"),
                   Rule("untrusted.test"),
                   Rule("h2.test"),
                   Rule("old.test"),
                   Rule("silent.test"),
                   Rule("inner.test"),
                   Rule("missing.test"),
                   Rule("93.184.216.50")};
  policy_.hosts.push_back({.host = *policy::HostPattern::Parse("plain.test"),
                           .ports = {{80, 80}},
                           .secrets = {"API_KEY"}});
  auto authority = Authority::Make();
  ASSERT_TRUE(authority.ok()) << authority.status();
  authority_ = *authority;
  client_ = testing::TestClient(*authority_->CertificatePem());
  https_ = std::make_unique<testing::TestServer>(
      443, [this](int socket) { ServeTls(socket); });
  http_ = std::make_unique<testing::TestServer>(80, [this](int socket) {
    for (;;) {
      const std::string head = testing::ReceiveUntil(socket, "\r\n\r\n", 30);
      const std::string said = Respond(head, Body(head, [&](size_t size) {
                                         return testing::Receive(socket, size);
                                       }));
      if (said.empty() || !testing::Send(socket, said)) return;
    }
  });
  Start(Options());
}

ProxyOptions InspectTest::Options() const {
  auto secrets = Secrets::Create({{"API_KEY", kSecretValue}});
  EXPECT_TRUE(secrets.ok()) << secrets.status();
  return {.secrets = *std::move(secrets),
          .authority = authority_,
          .extra_roots_pem = issuer_.pem()};
}

void InspectTest::Start(ProxyOptions options) {
  auto resolver = Resolver::Create({"127.0.0.1"});
  ASSERT_TRUE(resolver.ok()) << resolver.status();
  proxy_.reset();
  auto proxy = Proxy::Start(*std::move(resolver), std::move(options));
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  proxy_ = *std::move(proxy);
}

void InspectTest::Open(const LeaseLimits& limits) {
  JailSockets sockets;
  sockets.proxy = jail_.Listener(kProxyPort);
  sockets.ports.push_back(jail_.Listener(80));
  sockets.ports.push_back(jail_.Listener(443));
  sockets.dns = jail_.DnsSocket();
  const absl::Status opened = proxy_->Open(
      kJail, std::make_shared<const policy::NetworkPolicy>(policy_), limits,
      std::move(sockets));
  ASSERT_TRUE(opened.ok()) << opened;
}

LeaseUsage InspectTest::Close() {
  return proxy_->Close(kJail).value_or(LeaseUsage());
}

std::string InspectTest::Said(std::string_view request) {
  const os::Fd socket = Ask();
  EXPECT_TRUE(testing::Send(socket.get(), request));
  return testing::ReceiveAll(socket.get());
}

os::Fd InspectTest::Tunnel(const std::string& authority, std::string* answer) {
  os::Fd socket = Ask();
  testing::Send(socket.get(),
                absl::StrCat("CONNECT ", authority,
                             " HTTP/1.1\r\nHost: ", authority, "\r\n\r\n"));
  const std::string said = testing::ReceiveUntil(socket.get(), "\r\n\r\n");
  if (answer != nullptr) {
    *answer = said;
  } else {
    EXPECT_THAT(said, ::testing::StartsWith("HTTP/1.1 200 "));
  }
  return socket;
}

Inside InspectTest::Begin(const std::string& host, uint16_t port,
                          const std::string& named) {
  Inside inside{.socket = Tunnel(absl::StrCat(host, ":", port))};
  inside.tls = std::make_unique<testing::TlsEnd>(inside.socket.get(), client_);
  inside.connected = inside.tls->Connect(named.empty() ? host : named);
  return inside;
}

Inside InspectTest::BeginTransparent(const std::string& host) {
  Inside inside{
      .socket = jail_.ConnectTo(testing::LookUp(jail_, host, kDnsTypeA), 443)};
  inside.tls = std::make_unique<testing::TlsEnd>(inside.socket.get(), client_);
  inside.connected = inside.tls->Connect(host);
  return inside;
}

std::string InspectTest::Inner(const std::string& host,
                               std::string_view request) {
  const Inside inside = Begin(host);
  EXPECT_TRUE(inside.connected) << inside.tls->words();
  EXPECT_TRUE(inside.tls->Send(request));
  return inside.tls->ReceiveAll();
}

std::string InspectTest::GetHead(const std::string& host,
                                 const std::string& fields,
                                 const std::string& path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n", fields,
                      "Connection: close\r\n\r\n");
}

std::vector<std::string> InspectTest::Seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void InspectTest::ServeTls(int socket) {
  const auto context = contexts_.find(LocalAddress(socket));
  if (context == contexts_.end()) {
    // Says nothing for as long as somebody listens.
    (void)testing::ReceiveAll(socket, 60);
    return;
  }
  testing::TlsEnd tls(socket, context->second);
  if (!tls.Accept()) return;
  for (;;) {
    const std::string head = tls.ReceiveUntil("\r\n\r\n");
    if (head.empty()) return;
    const std::string said = Respond(
        head, Body(head, [&](size_t size) { return tls.Receive(size); }));
    if (said.empty() || !tls.Send(said)) return;
    if (absl::StrContains(head, " /finish ")) tls.Finish();
    if (absl::StrContains(said, "Connection: close")) return;
  }
}

std::string InspectTest::Respond(const std::string& head, std::string body) {
  if (head.empty()) return "";
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(head);
  }
  const auto asks = [&](std::string_view path) {
    return absl::StrContains(
        head,
        absl::StrCat(" /", absl::string_view(path.data(), path.size()), " "));
  };
  if (asks("close")) return "";
  // Of unknown length; with "/finish" TLS says that it ends.
  if (asks("cut") || asks("finish")) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall that there is";
  }
  if (asks("echo")) {
    return absl::StrCat("HTTP/1.1 200 As ", kSecretValue,
                        "\r\nX-Echo: ", kSecretValue,
                        "\r\nContent-Length: 0\r\n\r\n");
  }
  if (asks("broken")) {
    return absl::StrCat("HTTP/1.1 200 OK\r\nBad ", kSecretValue,
                        " Field: \x01\r\n\r\n");
  }
  if (asks("big")) body = std::string(kBigBytes, 'b');
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body);
}

}  // namespace sandglass::egress
