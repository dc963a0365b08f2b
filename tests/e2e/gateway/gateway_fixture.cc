#include "tests/e2e/gateway/gateway_fixture.h"

#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// The number after a word in a text; 0: it isn't there.
int NumberAfter(const std::string& text, const std::string& word) {
  const size_t at = text.rfind(word);
  if (at == std::string::npos) return 0;
  const size_t begin = at + word.size();
  int number = 0;
  (void)absl::SimpleAtoi(
      text.substr(begin, text.find_first_not_of("0123456789", begin) - begin),
      &number);
  return number;
}

}  // namespace

GatewayTest::GatewayTest() : place_(MakeTestDirectory()), issuer_("ours") {
  const TestIssuer::Pair own =
      issuer_.Issue({.names = "DNS:localhost,IP:127.0.0.1"});
  Put("own.pem", own.certificate);
  Put("own.key", own.key);
  RenewCertificates(issuer_);
  ::mkdir((place_ + "/tokens").c_str(), 0700);
}

void GatewayTest::RenewCertificates(const TestIssuer& issuer) {
  const TestIssuer::Pair server =
      issuer.Issue({.names = "DNS:localhost,IP:127.0.0.1"});
  Put("server.pem", server.certificate);
  Put("server.key", server.key);
  const TestIssuer::Pair gateway =
      issuer.Issue({.names = "URI:spiffe://test/gateways/one"});
  Put("gateway.pem", gateway.certificate);
  Put("gateway.key", gateway.key);
  Put("ca.pem", issuer.pem());
}

GatewayTest::~GatewayTest() {
  gateway_.reset();
  nodes_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(place_, ignored);
}

void GatewayTest::Put(const std::string& name, const std::string& text) const {
  WriteFile(absl::StrCat(place_, "/", name), text);
  ::chmod(absl::StrCat(place_, "/", name).c_str(), 0600);
}

void GatewayTest::StartNode(const std::string& name,
                            const std::string& called) {
  Node& node = nodes_[name];
  node.config = absl::StrCat(
      R"({"node_name": ")", called.empty() ? name : called,
      R"(", "pool": {"idle_age": "1s"}, "tls": {"certificate": ")", place_,
      R"(/server.pem", "key": ")", place_, R"(/server.key", "client_ca": ")",
      place_, R"(/ca.pem", "client_certificates": "required"},
      "identity": {"gateways": ["spiffe://test/gateways/*"]}})");
  auto started =
      Daemon::Start({.config = node.config,
                     .extra_arguments = {"--listen", "tls:127.0.0.1:0"}});
  ASSERT_TRUE(started.ok()) << started.status();
  node.daemon = *std::move(started);
  node.port =
      NumberAfter(node.daemon->LogTail(1000), "with TLS address=127.0.0.1:");
  ASSERT_NE(node.port, 0);
}

void GatewayTest::StartNodeAgain(const std::string& name) {
  Node& node = nodes_.at(name);
  auto started = Daemon::Start(
      {.config = node.config,
       .extra_arguments = {"--listen",
                           absl::StrCat("tls:127.0.0.1:", node.port)},
       .directory = node.daemon->directory()});
  ASSERT_TRUE(started.ok()) << started.status();
  node.before.push_back(std::move(node.daemon));
  node.daemon = *std::move(started);
}

void GatewayTest::KillNode(const std::string& name) {
  node(name).Signal(SIGKILL);
  ASSERT_TRUE(node(name).Wait(absl::Seconds(20)).has_value());
}

void GatewayTest::StartGateway() {
  std::vector<std::string> addresses;
  for (const auto& [name, node] : nodes_) {
    addresses.push_back(absl::StrCat("127.0.0.1:", node.port));
  }
  StartGateway(addresses, addresses.size());
}

void GatewayTest::WriteConfig(const std::vector<std::string>& addresses) {
  Put("gateway.json",
      absl::StrCat(
          "{", more_config_, R"("listen": ["tls:127.0.0.1:0"], "socket": ")",
          place_, R"(/sock", "tls": {"certificate": ")", place_,
          R"(/own.pem", "key": ")", place_,
          R"(/own.key"}, "identity": {"tokens_dir": ")", place_,
          R"(/tokens"}, "drain_timeout": "2s", "nodes": {"addresses": [")",
          absl::StrJoin(addresses, R"(", ")"), R"("], "ca": ")", place_,
          R"(/ca.pem", "certificate": ")", place_, R"(/gateway.pem", "key": ")",
          place_, R"(/gateway.key"}})"));
}

void GatewayTest::StartGateway(const std::vector<std::string>& addresses,
                               size_t known) {
  WriteConfig(addresses);
  client::SubprocessOptions options;
  options.program = SANDGLASS_GATEWAY;
  options.args = {"--config", place_ + "/gateway.json"};
  gateway_ = std::make_unique<client::Subprocess>(options);
  ASSERT_TRUE(gateway_->ReadErrorUntil("listening on address"))
      << gateway_->error_text();
  gateway_port_ = NumberAfter(gateway_->error_text(), " port=");
  ASSERT_NE(gateway_port_, 0) << gateway_->error_text();
  for (size_t i = 0; i < known; ++i) {
    ASSERT_TRUE(gateway_->ReadErrorUntil(
        absl::StrCat("node_there address=", addresses[i])))
        << gateway_->error_text();
  }
}

std::string GatewayTest::Token(const std::string& tenant,
                               const std::string& principal) {
  const auto root = v1::IdentityService::NewStub(
      grpc::CreateChannel(absl::StrCat("unix:", place_, "/sock"),
                          grpc::InsecureChannelCredentials()));
  v1::CreateTokenRequest request;
  request.set_tenant(tenant);
  request.set_principal(principal);
  v1::CreateTokenResponse token;
  grpc::ClientContext context;
  EXPECT_THAT(root->CreateToken(&context, request, &token), IsOk());
  return token.value();
}

RemoteCaller GatewayTest::Caller(const std::string& tenant,
                                 const std::string& principal) {
  return RemoteCaller(gateway_port_, issuer_.pem(), {},
                      {absl::StrCat("Bearer ", Token(tenant, principal))});
}

}  // namespace sandglass::testing
