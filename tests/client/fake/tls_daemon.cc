#include "tests/client/fake/tls_daemon.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

namespace sandglass::client {

class TlsDaemon::Sandboxes final : public v1::SandboxService::Service {
 public:
  explicit Sandboxes(TlsDaemon& daemon) : daemon_(daemon) {}

 private:
  grpc::Status GetServerInfo(grpc::ServerContext* context,
                             const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    response->set_version("0.1.0");
    return daemon_.Note(*context);
  }

  grpc::Status RunCode(grpc::ServerContext* context,
                       const v1::RunCodeRequest* request,
                       v1::RunCodeResponse* response) override {
    daemon_.request_ids_.Change(
        [&](auto& ids) { ids.push_back(request->request_id()); });
    response->set_outcome(v1::OUTCOME_OK);
    return daemon_.Note(*context);
  }

  grpc::Status StreamRunCode(
      grpc::ServerContext* context, const v1::StreamRunCodeRequest* request,
      grpc::ServerWriter<v1::StreamRunCodeResponse>* writer) override {
    daemon_.request_ids_.Change(
        [&](auto& ids) { ids.push_back(request->run().request_id()); });
    const grpc::Status status = daemon_.Note(*context);
    if (!status.ok()) return status;
    v1::StreamRunCodeResponse event;
    event.mutable_result()->set_outcome(v1::OUTCOME_OK);
    writer->Write(event);
    return grpc::Status::OK;
  }

  TlsDaemon& daemon_;
};

TlsDaemon::TlsDaemon(const Options& options)
    : authority_(*MakeAuthority("test", options.made)),
      sandboxes_(std::make_unique<Sandboxes>(*this)) {
  const CertificateWish wish = {.use = CertificateUse::kServer,
                                .name = "server",
                                .hosts = options.hosts,
                                .uri = "",
                                .days = 30};
  const Identification own = *MakeCertificate(authority_, wish, options.made);
  Secret("ca.pem", authority_.certificate);
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({own.key, own.certificate});
  if (options.asks_clients) {
    tls.pem_root_certs = authority_.certificate;
    tls.client_certificate_request =
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  grpc::ServerBuilder builder;
  builder.SetSyncServerOption(
      grpc::ServerBuilder::SyncServerOption::CQ_TIMEOUT_MSEC, 100);
  builder.AddListeningPort("127.0.0.1:0",
                           options.tls ? grpc::SslServerCredentials(tls)
                                       : grpc::InsecureServerCredentials(),
                           &port_);
  builder.AddListeningPort(absl::StrCat("unix:", directory_.Path("s")),
                           grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  builder.RegisterService(sandboxes_.get());
  server_ = builder.BuildAndStart();
}

TlsDaemon::~TlsDaemon() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

std::string TlsDaemon::address() const {
  return absl::StrCat("localhost:", port_);
}

Endpoint TlsDaemon::endpoint() const {
  Endpoint endpoint(address());
  endpoint.ca = ca();
  return endpoint;
}

std::string TlsDaemon::Secret(const std::string& name,
                              const std::string& text) const {
  const std::string path = directory_.Path(name);
  testing::WriteFile(path, text);
  chmod(path.c_str(), 0600);
  return path;
}

void TlsDaemon::MakeClient(const std::string& name) const {
  const CertificateWish wish = {
      .use = CertificateUse::kClient,
      .name = name,
      .hosts = {},
      .uri = absl::StrCat("spiffe://sandglass/local/", name),
      .days = 1};
  const Identification made = *MakeCertificate(authority_, wish, absl::Now());
  Secret(name + ".pem", made.certificate);
  Secret(name + ".key", made.key);
}

SubprocessOptions TlsDaemon::Client(std::vector<std::string> args) const {
  SubprocessOptions options;
  options.args = std::move(args);
  options.env = {"HOME=" + directory_.path(), "PATH=/usr/bin:/bin", "TZ=UTC"};
  options.directory = directory_.path();
  return options;
}

SubprocessResult TlsDaemon::RunClient(std::vector<std::string> args) const {
  return RunProcess(Client(std::move(args)));
}

grpc::Status TlsDaemon::Note(const grpc::ServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  proofs_.Change([&](auto& proofs) {
    proofs.push_back(
        found == metadata.end()
            ? ""
            : std::string(found->second.data(), found->second.size()));
  });
  for (const grpc::string_ref& name :
       context.auth_context()->FindPropertyValues("x509_common_name")) {
    names_.Change(
        [&](auto& names) { names.emplace_back(name.data(), name.size()); });
  }
  if (broken.load() > 0) {
    --broken;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "broken");
  }
  return grpc::Status::OK;
}

grpc::Status TlsDaemon::WhoAmI(grpc::ServerContext* context,
                               const v1::WhoAmIRequest*,
                               v1::WhoAmIResponse* response) {
  response->set_tenant("team-a");
  response->set_principal("ci");
  response->set_caller("team-a/ci");
  response->add_scopes(v1::SCOPE_RUN);
  response->add_scopes(v1::SCOPE_FILES);
  response->set_proof(v1::PROOF_TOKEN);
  response->set_token_id("abc");
  return Note(*context);
}

grpc::Status TlsDaemon::CreateToken(grpc::ServerContext* context,
                                    const v1::CreateTokenRequest* request,
                                    v1::CreateTokenResponse* response) {
  created = *request;
  response->set_value("sg_abc_verysecret");
  v1::Token& token = *response->mutable_token();
  token.set_id("abc");
  token.set_tenant(request->tenant());
  token.set_note(request->note());
  return Note(*context);
}

grpc::Status TlsDaemon::ListTokens(grpc::ServerContext* context,
                                   const v1::ListTokensRequest*,
                                   v1::ListTokensResponse* response) {
  v1::Token& token = *response->add_tokens();
  token.set_id("abc");
  token.set_tenant("team-a");
  token.set_principal("ci");
  token.add_scopes(v1::SCOPE_RUN);
  token.set_read_only(true);
  token.mutable_expire_time()->set_seconds(1);
  token.set_note("a note");
  return Note(*context);
}

grpc::Status TlsDaemon::RevokeToken(grpc::ServerContext* context,
                                    const v1::RevokeTokenRequest* request,
                                    v1::RevokeTokenResponse*) {
  if (request->id() != "abc") {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such token");
  }
  return Note(*context);
}

}  // namespace sandglass::client
