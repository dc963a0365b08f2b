#ifndef SANDGLASS_TESTS_E2E_REMOTE_REMOTE_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_REMOTE_REMOTE_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/identity_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/network/tls_world.h"

namespace sandglass::testing {

// A caller over TLS: a connection of its own, and what each call brings.
class RemoteCaller {
 public:
  RemoteCaller(int port, const std::string& ca,
               const TestIssuer::Pair& certificate = {},
               std::vector<std::string> authorization = {});

  // Calls a method with ten seconds, for example
  // Call(&v1::IdentityService::Stub::WhoAmI, request).
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(std::unique_ptr<Stub> stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    Prepare(context);
    return (stub.get()->*method)(&context, request, response);
  }
  grpc::Status WhoAmI(v1::WhoAmIResponse* who);
  grpc::Status Run(const std::string& code, v1::RunCodeResponse* response,
                   const std::string& request_id = "",
                   const std::string& session = "");
  // A call of any unary method with an empty request.
  grpc::Status CallEmpty(const std::string& method);

  void Prepare(grpc::ClientContext& context) const;
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  const std::vector<std::string> authorization_;
};

// The reason of an error's ErrorInfo.
std::string ReasonOf(const grpc::Status& status);

// A daemon with an address with TLS on 127.0.0.1, tokens, and certificates of
// the tenant team-a.
class RemoteTest : public DaemonTest {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  static const TestIssuer& issuer() { return *issuer_; }
  static const std::string& directory() { return directory_; }
  static int port();
  // Whoever has these rights by a token that root makes.
  static v1::CreateTokenResponse Token(const v1::CreateTokenRequest& request);
  static v1::CreateTokenResponse Token(
      const std::string& tenant, const std::string& principal,
      const std::vector<v1::Scope>& scopes = {});
  static RemoteCaller With(const v1::CreateTokenResponse& token);
  static RemoteCaller Nobody(std::vector<std::string> authorization = {});
  static RemoteCaller Certified(const TestIssuer::Pair& certificate);
  static std::unique_ptr<v1::IdentityService::Stub> Root();
  // Puts a file in place at once, as those do that renew certificates.
  static void Put(const std::string& name, const std::string& text);

 private:
  static TestIssuer* issuer_;
  static std::string directory_;
  static int port_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_REMOTE_REMOTE_FIXTURE_H_
