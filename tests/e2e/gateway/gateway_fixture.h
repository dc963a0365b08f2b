#ifndef SANDGLASS_TESTS_E2E_GATEWAY_GATEWAY_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_GATEWAY_GATEWAY_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/daemon/daemon.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/subprocess.h"

namespace sandglass::testing {

// A real gateway and real nodes behind it, all of one authority on 127.0.0.1.
class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest();
  ~GatewayTest() override;

  // A daemon that the test calls `name`, and its configuration too unless it is
  // `called` otherwise.
  void StartNode(const std::string& name, const std::string& called = "");
  // One that was killed, at the same address and with the same directory.
  void StartNodeAgain(const std::string& name);
  Daemon& node(const std::string& name) { return *nodes_.at(name).daemon; }
  int port(const std::string& name) const { return nodes_.at(name).port; }
  // Puts certificates of another authority where nodes and the gateway have
  // those that they show each other. What serves goes on.
  void RenewCertificates(const TestIssuer& issuer);
  // Kills it and waits for its end.
  void KillNode(const std::string& name);
  // With the nodes that were started, or these addresses. Waits until it knows
  // of so many nodes.
  void StartGateway();
  void StartGateway(const std::vector<std::string>& addresses, size_t known);
  client::Subprocess& gateway() { return *gateway_; }
  void WriteConfig(const std::vector<std::string>& addresses);
  // Further keys of the gateway's configuration, each with a comma behind it.
  std::string more_config_;
  // A token that the gateway's root makes.
  std::string Token(const std::string& tenant, const std::string& principal);
  // Who calls the gateway by such a token.
  RemoteCaller Caller(const std::string& tenant, const std::string& principal);

  const std::string place_;
  const TestIssuer issuer_;
  int gateway_port_ = 0;

 private:
  struct Node {
    // Those of the same directory that came before. They are destroyed last:
    // the first one sweeps what all of them left.
    std::vector<std::unique_ptr<Daemon>> before;
    std::unique_ptr<Daemon> daemon;
    int port = 0;
    std::string config;
  };
  void Put(const std::string& name, const std::string& text) const;

  std::map<std::string, Node> nodes_;
  std::unique_ptr<client::Subprocess> gateway_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_GATEWAY_GATEWAY_FIXTURE_H_
