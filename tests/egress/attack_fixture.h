#ifndef SANDGLASS_TESTS_EGRESS_ATTACK_FIXTURE_H_
#define SANDGLASS_TESTS_EGRESS_ATTACK_FIXTURE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/egress/proxy.h"
#include "tests/support/network/world.h"

// What programs and servers that mean harm, or are merely unlucky, do to the
// proxy is tried with.
namespace sandglass::egress {

inline constexpr uint16_t kProxyPort = 3128;
inline constexpr uint64_t kJail = 1;

inline sockaddr_in At(const char* address, uint16_t port) {
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &at.sin_addr);
  return at;
}

inline const sockaddr* Plain(const sockaddr_in& at) {
  return reinterpret_cast<const sockaddr*>(&at);
}

// The most that one thread of this process is seen running, or ready to run, of
// the times that it is looked at for a second in which nothing is to be done. A
// thread that spins is so always, however busy the machine is.
inline double ShareOfSpinning() {
  constexpr int kLooks = 50;
  std::map<std::string, int> seen;
  for (int i = 0; i < kLooks; ++i) {
    std::error_code failed;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/self/task", failed)) {
      const std::string id = task.path().filename().string();
      if (id == std::to_string(::gettid())) continue;
      std::ifstream file(task.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      const size_t name = stat.rfind(") ");
      if (name != std::string::npos && stat[name + 2] == 'R') ++seen[id];
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  int max = 0;
  for (const auto& [id, times] : seen) max = std::max(max, times);
  return static_cast<double>(max) / kLooks;
}

inline constexpr double kIdleShare = 0.5;

inline policy::AllowedHost Host(std::string_view pattern,
                                std::vector<policy::PortRange> ports) {
  return {.host = *policy::HostPattern::Parse(pattern),
          .ports = std::move(ports)};
}

class AttackTest : public ::testing::Test {
 protected:
  AttackTest()
      : names_({{"allowed.test", {"93.184.216.34"}},
                {"two.test", {"93.184.216.60", "93.184.216.61"}},
                {"mixed.test", {"10.0.0.1", "93.184.216.34"}}},
               testing::TestNames::Answers::kAll) {}

  void SetUp() override {
    ASSERT_TRUE(jail_.valid()) << "needs root: network namespaces";
    const std::vector<policy::PortRange> ports = {
        {80, 80}, {82, 82}, {443, 443}};
    policy_.profile = "p";
    policy_.hosts = {Host("allowed.test", ports), Host("two.test", ports),
                     Host("mixed.test", ports), Host("93.184.216.50", ports),
                     Host("inspected.test", {{443, 443}})};
    policy_.hosts.back().inspect = true;
    auto resolver = Resolver::Create({"127.0.0.1"});
    ASSERT_TRUE(resolver.ok()) << resolver.status();
    auto proxy = Proxy::Start(*std::move(resolver));
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    proxy_ = *std::move(proxy);
  }

  void Open(const LeaseLimits& limits = {}) {
    OpenWith(jail_.Listener(kProxyPort), limits);
  }
  void OpenWith(os::Fd listener, const LeaseLimits& limits = {}) {
    JailSockets sockets;
    sockets.proxy = std::move(listener);
    ASSERT_TRUE(
        proxy_
            ->Open(kJail,
                   std::make_shared<const policy::NetworkPolicy>(policy_),
                   limits, std::move(sockets))
            .ok());
  }
  LeaseUsage Close() { return proxy_->Close(kJail).value_or(LeaseUsage()); }

  os::Fd Ask() { return jail_.ConnectTo("127.0.0.1", kProxyPort); }
  os::Fd Tunnel(const std::string& authority) {
    os::Fd socket = Ask();
    testing::Send(socket.get(),
                  absl::StrCat("CONNECT ", authority,
                               " HTTP/1.1\r\nHost: ", authority, "\r\n\r\n"));
    EXPECT_THAT(testing::ReceiveUntil(socket.get(), "\r\n\r\n"),
                ::testing::StartsWith("HTTP/1.1 200 "));
    return socket;
  }
  static std::string GetHead(const std::string& host,
                             const std::string& path = "/") {
    return absl::StrCat("GET http://", host, path, " HTTP/1.1\r\nHost: ", host,
                        "\r\n\r\n");
  }
  static std::string PostHead(const std::string& host, size_t length,
                              const std::string& path = "/") {
    return absl::StrCat("POST http://", host, path, " HTTP/1.1\r\nHost: ", host,
                        "\r\nContent-Length: ", length, "\r\n\r\n");
  }

  policy::NetworkPolicy policy_;
  testing::JailNet jail_;
  testing::TestNames names_;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_TESTS_EGRESS_ATTACK_FIXTURE_H_
