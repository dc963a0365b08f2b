#ifndef SANDGLASS_TESTS_CLIENT_FAKE_TLS_DAEMON_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_TLS_DAEMON_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cert/certificate.h"
#include "client/connection/endpoint.h"
#include "grpcpp/server.h"
#include "sandglass/v1/identity_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "tests/client/fake/shared.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {

// A daemon on a TLS port of loopback in the test's process, which writes down
// by what its callers prove who they are. Its certificates are those that
// `sandglass cert` makes.
class TlsDaemon final : public v1::IdentityService::Service {
 public:
  struct Options {
    std::vector<std::string> hosts = {"localhost", "127.0.0.1"};
    // When its certificates were made.
    absl::Time made = absl::Now();
    // Whether callers need a certificate.
    bool asks_clients = false;
    bool tls = true;
  };
  explicit TlsDaemon(const Options& options);
  TlsDaemon() : TlsDaemon(Options()) {}
  ~TlsDaemon() override;

  // "localhost:PORT", and the file with the authority.
  std::string address() const;
  std::string ca() const { return directory_.Path("ca.pem"); }
  Endpoint endpoint() const;
  // A file of mode 0600 in the daemon's directory.
  std::string Secret(const std::string& name, const std::string& text) const;
  // A client's certificate by this daemon's authority: NAME.pem and NAME.key.
  void MakeClient(const std::string& name) const;
  const testing::TempDir& directory() const { return directory_; }

  // Runs the binary with HOME in the daemon's directory.
  SubprocessOptions Client(std::vector<std::string> args) const;
  SubprocessResult RunClient(std::vector<std::string> args) const;

  // What callers sent as authorization, call by call; "" where they sent none.
  std::vector<std::string> Proofs() const { return proofs_.Get(); }
  // The names of the certificates of callers.
  std::vector<std::string> Names() const { return names_.Get(); }
  // The ids of the runs' requests.
  std::vector<std::string> RequestIds() const { return request_ids_.Get(); }
  Shared<v1::CreateTokenRequest> created;
  // So many calls of a method that runs nothing, or of a run, are answered as
  // if the connection had broken.
  std::atomic<int> broken{0};

 private:
  class Sandboxes;

  grpc::Status Note(const grpc::ServerContext& context);
  grpc::Status WhoAmI(grpc::ServerContext* context,
                      const v1::WhoAmIRequest* request,
                      v1::WhoAmIResponse* response) override;
  grpc::Status CreateToken(grpc::ServerContext* context,
                           const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override;
  grpc::Status ListTokens(grpc::ServerContext* context,
                          const v1::ListTokensRequest* request,
                          v1::ListTokensResponse* response) override;
  grpc::Status RevokeToken(grpc::ServerContext* context,
                           const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenResponse* response) override;

  testing::TempDir directory_;
  Identification authority_;
  Shared<std::vector<std::string>> proofs_;
  Shared<std::vector<std::string>> names_;
  Shared<std::vector<std::string>> request_ids_;
  std::unique_ptr<Sandboxes> sandboxes_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_TLS_DAEMON_H_
