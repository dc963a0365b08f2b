#ifndef SANDGLASS_TESTS_EGRESS_INSPECT_FIXTURE_H_
#define SANDGLASS_TESTS_EGRESS_INSPECT_FIXTURE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/proxy.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/network/world.h"

// Servers with TLS, a proxy that looks into it, and a jail.
namespace sandglass::egress {

inline constexpr char kSecretValue[] = "s3cr3t-value";
inline constexpr size_t kBigBytes = size_t{10} << 20;

// A jail's connection with TLS on it.
struct Inside {
  os::Fd socket;
  std::unique_ptr<testing::TlsEnd> tls;
  bool connected = false;
};

class InspectTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kProxyPort = 3128;
  static constexpr uint64_t kJail = 1;

  InspectTest();
  ~InspectTest() override;

  void SetUp() override;
  // With an authority, secrets and the servers' issuer, unless told otherwise.
  void Start(ProxyOptions options);
  ProxyOptions Options() const;
  void Open(const LeaseLimits& limits = {});
  LeaseUsage Close();

  os::Fd Ask() { return jail_.ConnectTo("127.0.0.1", kProxyPort); }
  // One request to the proxy itself, and all that came back.
  std::string Said(std::string_view request);
  // After CONNECT; its answer.
  os::Fd Tunnel(const std::string& authority, std::string* answer = nullptr);
  // TLS as the program has it, through a tunnel to `host`:`port`. Another name
  // for the hello can be told.
  Inside Begin(const std::string& host, uint16_t port = 443,
               const std::string& named = "");
  // The same by the host's address of the jail's DNS socket.
  Inside BeginTransparent(const std::string& host);
  // One request inside TLS on a tunnel of its own, and all that came back.
  std::string Inner(const std::string& host, std::string_view request);
  static std::string GetHead(const std::string& host,
                             const std::string& fields = "",
                             const std::string& path = "/");

  // Heads as the servers saw them.
  std::vector<std::string> Seen();

  testing::TestIssuer issuer_{"Issuer"};
  testing::TestIssuer stranger_{"Stranger"};             // whom nobody trusts
  std::map<std::string, testing::TlsContext> contexts_;  // by address
  std::shared_ptr<Authority> authority_;
  testing::TlsContext client_;
  policy::NetworkPolicy policy_;
  testing::JailNet jail_;
  testing::TestNames names_;
  std::mutex mutex_;
  std::vector<std::string> seen_;
  std::unique_ptr<testing::TestServer> https_;
  std::unique_ptr<testing::TestServer> http_;
  std::unique_ptr<Proxy> proxy_;

 private:
  void ServeTls(int socket);
  // What is sent for a request; empty: the connection ends.
  std::string Respond(const std::string& head, std::string body);
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_TESTS_EGRESS_INSPECT_FIXTURE_H_
