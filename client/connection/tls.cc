#include "client/connection/tls.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/connect.h"
#include "client/connection/token.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxPem = size_t{4} << 20;
constexpr size_t kMaxPrivateKey = 64 << 10;
constexpr absl::Duration kTlsPatience = absl::Seconds(5);

// Where distributions keep the authorities that their users trust.
constexpr std::array<const char*, 4> kSystemAuthorities = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// Calls that change nothing are made again by gRPC when a connection broke or
// could not be made: the daemon has not answered them, and a second answer does
// no harm. None else is here: a program that runs twice, or a file that is
// written twice, isn't what was asked for.
constexpr char kServiceConfig[] = R"json({
  "methodConfig": [{
    "name": [
      {"service": "sandglass.v1.SandboxService", "method": "GetServerInfo"},
      {"service": "sandglass.v1.SandboxService", "method": "ListRuns"},
      {"service": "sandglass.v1.SessionService", "method": "GetSession"},
      {"service": "sandglass.v1.SessionService", "method": "ListSessions"},
      {"service": "sandglass.v1.ExecService", "method": "ListExecs"},
      {"service": "sandglass.v1.FileService", "method": "ListDirectory"},
      {"service": "sandglass.v1.FileService", "method": "StatFile"},
      {"service": "sandglass.v1.FileService", "method": "GlobFiles"},
      {"service": "sandglass.v1.FileService", "method": "GrepFiles"},
      {"service": "sandglass.v1.PolicyService", "method": "ListApprovals"},
      {"service": "sandglass.v1.PolicyService", "method": "GetApproval"},
      {"service": "sandglass.v1.PolicyService", "method": "CheckProfile"},
      {"service": "sandglass.v1.LayerService", "method": "ListLayers"},
      {"service": "sandglass.v1.OperatorService", "method": "GetStatus"},
      {"service": "sandglass.v1.OperatorService", "method": "GetUsage"},
      {"service": "sandglass.v1.IdentityService", "method": "WhoAmI"},
      {"service": "sandglass.v1.IdentityService", "method": "ListTokens"}
    ],
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.2s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})json";

absl::StatusOr<std::string> ReadPem(const std::string& flag,
                                    const std::string& path) {
  absl::StatusOr<FileContent> content = ReadInput(path, kMaxPem);
  if (!content.ok()) {
    return absl::Status(content.status().code(),
                        absl::StrCat(flag, ": ", content.status().message()));
  }
  if (!absl::StrContains(content->bytes, "-----BEGIN ")) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, " ", VisibleText(path),
        ": there is no certificate in it (in PEM, it begins with -----BEGIN "
        "CERTIFICATE-----)"));
  }
  return std::move(content->bytes);
}

absl::StatusOr<std::string> SystemAuthorities() {
  // As OpenSSL has it.
  if (const auto file = EnvironmentVariable("SSL_CERT_FILE");
      file && !file->empty()) {
    return *file;
  }
  for (const char* path : kSystemAuthorities) {
    if (ReadInput(path, kMaxPem).ok()) return path;
  }
  return absl::NotFoundError(
      "this system has no list of authorities; give the daemon's with --ca "
      "FILE");
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(
    const Endpoint& endpoint, const TlsFiles& files) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = files.authorities;
  options.pem_cert_chain = files.certificate;
  options.pem_private_key = files.key;
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      grpc::SslCredentials(options);
  if (endpoint.token.empty() && endpoint.token_file.empty()) return credentials;
  return grpc::CompositeChannelCredentials(credentials,
                                           TokenCredentials(endpoint));
}

}  // namespace

absl::StatusOr<TlsFiles> ReadTlsFiles(const Endpoint& endpoint) {
  TlsFiles files;
  files.authorities_name = endpoint.ca;
  if (endpoint.ca.empty()) {
    absl::StatusOr<std::string> path = SystemAuthorities();
    if (!path.ok()) return path.status();
    files.authorities_name = *std::move(path);
  }
  absl::StatusOr<std::string> ca = ReadPem("--ca", files.authorities_name);
  if (!ca.ok()) return ca.status();
  files.authorities = *std::move(ca);
  if (endpoint.cert.empty()) return files;
  absl::StatusOr<std::string> certificate = ReadPem("--cert", endpoint.cert);
  if (!certificate.ok()) return certificate.status();
  files.certificate = *std::move(certificate);
  absl::StatusOr<std::string> key =
      ReadSecretFile("--key", endpoint.key, kMaxPrivateKey);
  if (!key.ok()) return key.status();
  files.key = *std::move(key);
  return files;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenTlsChannel(
    const Endpoint& endpoint, const Address& address,
    std::vector<CallMetadata> metadata) {
  absl::StatusOr<TlsFiles> files = ReadTlsFiles(endpoint);
  if (!files.ok()) return files.status();
  // What is wrong with it is said before anything is sent.
  if (const auto token = TokenOf(endpoint); !token.ok()) return token.status();
  grpc::ChannelArguments arguments = DaemonChannelArguments(kPatience);
  arguments.SetServiceConfigJSON(kServiceConfig);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // Nothing is shared with another channel, whose token is another.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (address.socket_address_length != 0) {
    // No proxy is needed for a number.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  std::shared_ptr<grpc::Channel> channel =
      grpc::experimental::CreateCustomChannelWithInterceptors(
          absl::StrCat("dns:///", address.HostAndPort()),
          CredentialsOf(endpoint, *files), arguments,
          SendMetadata(std::move(metadata)));

  const absl::Time deadline = absl::Now() + kTlsPatience;
  TlsProblem problem;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      problem = ProbeTls(address, *files);
      if (!problem.words.empty() && !problem.may_pass) break;
    }
    if (!channel->WaitForStateChange(state, absl::ToChronoTime(deadline))) {
      if (problem.words.empty()) problem = ProbeTls(address, *files);
      break;
    }
    state = channel->GetState(/*try_to_connect=*/true);
  }
  if (state == GRPC_CHANNEL_READY) return channel;
  return absl::UnavailableError(absl::StrCat(
      "no connection to ", VisibleText(address.text), ": ",
      problem.words.empty() ? absl::StrCat("it does not answer within ",
                                           absl::FormatDuration(kTlsPatience))
                            : problem.words));
}

}  // namespace sandglass::client
