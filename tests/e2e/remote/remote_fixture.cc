#include "tests/e2e/remote/remote_fixture.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/client_unary_call.h"
#include "grpcpp/support/byte_buffer.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {

TestIssuer* RemoteTest::issuer_ = nullptr;
std::string RemoteTest::directory_;
int RemoteTest::port_ = 0;

RemoteCaller::RemoteCaller(int port, const std::string& ca,
                           const TestIssuer::Pair& certificate,
                           std::vector<std::string> authorization)
    : authorization_(std::move(authorization)) {
  grpc::ChannelArguments arguments;
  // Otherwise callers of one test would share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(
      absl::StrCat("127.0.0.1:", port),
      grpc::SslCredentials({.pem_root_certs = ca,
                            .pem_private_key = certificate.key,
                            .pem_cert_chain = certificate.certificate}),
      arguments);
}

void RemoteCaller::Prepare(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  for (const std::string& value : authorization_) {
    context.AddMetadata("authorization", value);
  }
}

grpc::Status RemoteCaller::WhoAmI(v1::WhoAmIResponse* who) {
  return Call(v1::IdentityService::NewStub(channel_),
              &v1::IdentityService::Stub::WhoAmI, v1::WhoAmIRequest(), who);
}

grpc::Status RemoteCaller::Run(const std::string& code,
                               v1::RunCodeResponse* response,
                               const std::string& request_id,
                               const std::string& session) {
  v1::RunCodeRequest request = Python(code);
  request.set_request_id(request_id);
  request.set_session_id(session);
  return Call(v1::SandboxService::NewStub(channel_),
              &v1::SandboxService::Stub::RunCode, request, response);
}

grpc::Status RemoteCaller::CallEmpty(const std::string& method) {
  grpc::ClientContext context;
  Prepare(context);
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel_.get(),
      grpc::internal::RpcMethod(method.c_str(),
                                grpc::internal::RpcMethod::NORMAL_RPC),
      &context, request, &response);
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status rich;
  rich.ParseFromString(status.error_details());
  for (const auto& any : rich.details()) {
    google::rpc::ErrorInfo info;
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "";
}

void RemoteTest::SetUpTestSuite() {
  issuer_ = new TestIssuer("ours");
  directory_ = MakeTestDirectory();
  const TestIssuer::Pair own =
      issuer_->Issue({.names = "DNS:localhost,IP:127.0.0.1"});
  Put("cert.pem", own.certificate);
  // For root alone, as certbot and others leave it.
  Put("key.pem", own.key);
  Put("ca.pem", issuer_->pem());
  Put("crl.pem", issuer_->Revoked({}));
  StartSuite({.config = absl::StrCat(R"({"tls": {"certificate": ")", directory_,
                                     R"(/cert.pem", "key": ")", directory_,
                                     R"(/key.pem", "client_ca": ")", directory_,
                                     R"(/ca.pem", "crl": ")", directory_,
                                     R"(/crl.pem"},
                  "node_name": "node-1",
                  "identity": {"gateways": ["spiffe://test/gateways/*"],
                  "tokens_dir": ")",
                                     directory_, R"(/tokens",
                  "certificates": [
                    {"name": "spiffe://test/team-a/*", "tenant": "team-a"}]},
                  "audit": {"dir": ")",
                                     directory_, R"(/audit"}})"),
              .extra_arguments = {"--listen", "tls:127.0.0.1:0"}});
}

int RemoteTest::port() {
  if (port_ != 0) return port_;
  const std::string log = daemon().LogTail(1000);
  const std::string kWord = "with TLS address=127.0.0.1:";
  const size_t at = log.find(kWord);
  if (at == std::string::npos) ADD_FAILURE() << "it doesn't say where: " << log;
  const std::string rest = log.substr(at + kWord.size(), 6);
  EXPECT_TRUE(absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &port_)) << rest;
  return port_;
}

void RemoteTest::TearDownTestSuite() {
  DaemonTest::TearDownTestSuite();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  delete std::exchange(issuer_, nullptr);
  port_ = 0;
}

void RemoteTest::Put(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(directory_, "/", name);
  WriteFile(path + ".new", text);
  ::chmod((path + ".new").c_str(), 0600);
  std::filesystem::rename(path + ".new", path);
}

std::unique_ptr<v1::IdentityService::Stub> RemoteTest::Root() {
  return v1::IdentityService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
}

v1::CreateTokenResponse RemoteTest::Token(
    const v1::CreateTokenRequest& request) {
  v1::CreateTokenResponse response;
  grpc::ClientContext context;
  const grpc::Status status = Root()->CreateToken(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::CreateTokenResponse RemoteTest::Token(
    const std::string& tenant, const std::string& principal,
    const std::vector<v1::Scope>& scopes) {
  v1::CreateTokenRequest request;
  request.set_tenant(tenant);
  request.set_principal(principal);
  for (const v1::Scope scope : scopes) request.add_scopes(scope);
  return Token(request);
}

RemoteCaller RemoteTest::With(const v1::CreateTokenResponse& token) {
  return Nobody({absl::StrCat("Bearer ", token.value())});
}

RemoteCaller RemoteTest::Nobody(std::vector<std::string> authorization) {
  return RemoteCaller(port(), issuer_->pem(), {}, std::move(authorization));
}

RemoteCaller RemoteTest::Certified(const TestIssuer::Pair& certificate) {
  return RemoteCaller(port(), issuer_->pem(), certificate);
}

}  // namespace sandglass::testing
