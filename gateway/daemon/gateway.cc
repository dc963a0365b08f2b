#include "gateway/daemon/gateway.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/daemon/link_service.h"
#include "gateway/proxy/unary_proxy.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "sandbox/os/clocks.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"
#include "server/base/version.h"
#include "server/edge/connection_tap.h"
#include "server/edge/cut_connections.h"
#include "server/edge/identity_service.h"
#include "server/edge/socket_tap.h"

namespace sandglass::gateway {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);
constexpr uint32_t kMaxConnections = 16384;
constexpr uint32_t kMaxMessageBytes = 64 << 20;
constexpr uint64_t kRequestRoomBytes = uint64_t{1} << 30;
// Clients are told that nothing new is taken before their connections go.
constexpr absl::Duration kNoticeWait = absl::Milliseconds(200);

// `key` is the configuration's.
absl::StatusOr<std::string> ReadSmallFile(const char* key,
                                          const std::string& path) {
  const os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  constexpr off_t kMost = 1 << 20;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, ": ", server::Quoted(path, 256), ": ", server::ErrorText(errno)));
  }
  if (!S_ISREG(info.st_mode) || info.st_size > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": ", server::Quoted(path, 256),
                     " is no regular file of at most 1 MiB"));
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  if (::pread(fd.get(), text.data(), text.size(), 0) != info.st_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": ", server::Quoted(path, 256), " can't be read"));
  }
  return text;
}

// Follows the files: connections that are made later take what is in them then.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> NodeCredentials(
    const NodesConfig& nodes) {
  namespace tls = grpc::experimental;
  for (const auto& [key, path] :
       {std::pair("nodes.ca", &nodes.ca),
        std::pair("nodes.certificate", &nodes.certificate),
        std::pair("nodes.key", &nodes.key)}) {
    absl::StatusOr<std::string> read = ReadSmallFile(key, *path);
    if (!read.ok()) return read.status();
  }
  constexpr unsigned kSeconds = 1;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          nodes.key, nodes.certificate, nodes.ca, kSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      std::make_shared<tls::HostNameCertificateVerifier>());
  return tls::TlsCredentials(options);
}

absl::StatusOr<os::Fd> BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&signals, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  os::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return absl::InternalError(
        absl::StrCat("signalfd: ", server::ErrorText(errno)));
  }
  return fd;
}

}  // namespace

Gateway::~Gateway() = default;

absl::Status Gateway::Start() {
  // ORDER: a thread from before would take signals that are meant for Run.
  absl::StatusOr<os::Fd> signals = BlockSignals();
  if (!signals.ok()) return signals.status();
  signals_ = *std::move(signals);
  threads_.emplace(server::CallThreadsOptions());
  if (absl::Status done = OpenCredentials(); !done.ok()) return done;
  if (absl::Status done = ListenSocket(); !done.ok()) return done;
  if (absl::Status done = ListenTls(); !done.ok()) return done;
  if (absl::Status done = FindNodes(); !done.ok()) return done;
  if (absl::Status done = ReadLinkKey(); !done.ok()) return done;
  return StartServer();
}

absl::Status Gateway::OpenCredentials() {
  std::unique_ptr<server::TokenStore> tokens;
  if (const std::string& path = config_.identity.tokens_dir; !path.empty()) {
    os::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat("identity.tokens_dir: ", server::Quoted(path, 256), ": ",
                       server::ErrorText(errno)));
    }
    absl::StatusOr<std::unique_ptr<server::TokenStore>> opened =
        server::TokenStore::Open(std::move(directory), path);
    if (!opened.ok()) return opened.status();
    tokens = *std::move(opened);
  }
  std::unique_ptr<server::JwtVerifier> jwt;
  if (!config_.identity.jwt.empty()) {
    absl::StatusOr<std::unique_ptr<server::JwtVerifier>> made =
        server::JwtVerifier::Make(config_.identity.jwt);
    if (!made.ok()) return made.status();
    jwt = *std::move(made);
  }
  credentials_.emplace(std::move(tokens), nullptr, nullptr, std::move(jwt));
  peers_.emplace(server::PeerTable::kAnswerBytes, &*credentials_);
  request_room_.emplace(kRequestRoomBytes);
  return absl::OkStatus();
}

absl::Status Gateway::ListenSocket() {
  absl::StatusOr<os::Fd> socket = server::ListenOnUnixSocket(
      {.path = config_.socket, .owner = ::geteuid(), .group = ::getegid()});
  if (!socket.ok()) return socket.status();
  socket_ = *std::move(socket);
  return absl::OkStatus();
}

absl::Status Gateway::ListenTls() {
  absl::StatusOr<server::TlsFiles> files = server::ReadTlsFiles(config_.tls);
  if (!files.ok()) return files.status();
  absl::StatusOr<server::SharedTls> tls =
      server::MakeTls(config_.tls, *files, os::WallNow());
  if (!tls.ok()) return tls.status();
  tls_.emplace(config_.tls, *std::move(files), *std::move(tls));
  for (const server::ListenAddress& address : config_.listen) {
    absl::StatusOr<os::Fd> socket =
        server::ListenOnTcp("listen", address.tcp_address, server::Ipv4::kNot);
    if (!socket.ok()) return socket.status();
    ports_.push_back(server::TcpPortOf(*socket));
    tls_sockets_.push_back(*std::move(socket));
  }
  return absl::OkStatus();
}

absl::Status Gateway::FindNodes() {
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      NodeCredentials(config_.nodes);
  if (!credentials.ok()) return credentials.status();
  if (!finder_.has_value()) finder_.emplace(ResolveNodes);
  finder_->SetSources(config_.nodes.addresses, config_.nodes.resolve_every,
                      [this, of_node = *std::move(credentials)](
                          const std::vector<NodeAddress>& found) {
                        nodes_.SetNodes(found, of_node);
                      });
  return absl::OkStatus();
}

absl::Status Gateway::ReadLinkKey() {
  constexpr char kKey[] = "ports.link_key_file";
  const std::string& path = config_.ports.link_key_file;
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> key = ReadSmallFile(kKey, path);
  if (!key.ok()) return key.status();
  absl::StatusOr<LinkSigner> links = LinkSigner::Make(*std::move(key));
  if (!links.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        kKey, ": ", server::Quoted(path, 256), " ", links.status().message()));
  }
  links_ = *std::move(links);
  return absl::OkStatus();
}

absl::Status Gateway::StartServing(Serving& serving) {
  serving.proxy.emplace(nodes_, metrics_, *peers_);
  serving.services.push_back(server::MakeIdentityService(*threads_, *peers_));
  serving.services.push_back(MakeLinkService(
      links_.has_value() ? &*links_ : nullptr,
      {.url = config_.ports.url, .domain = config_.ports.domain}, *peers_));
  AddUnaryProxies(nodes_, metrics_, *peers_, serving.services);
  absl::StatusOr<std::unique_ptr<server::GrpcServer>> grpc =
      server::GrpcServer::Start(
          serving.services,
          {.max_message_bytes = kMaxMessageBytes,
           .record = std::bind_front(&GatewayMetrics::RecordCall, &metrics_),
           .calls = &peers_->calls(),
           .generic = &*serving.proxy});
  if (!grpc.ok()) return grpc.status();
  serving.grpc = *std::move(grpc);
  return absl::OkStatus();
}

absl::Status Gateway::StartServer() {
  for (Serving* const serving : {&outer_, &inner_}) {
    if (absl::Status done = StartServing(*serving); !done.ok()) return done;
  }
  const auto serve = [server = outer_.grpc.get()](int fd) {
    server->Serve(fd);
  };
  if (absl::Status taps = server::CheckTaps(serve); !taps.ok()) return taps;
  absl::StatusOr<std::unique_ptr<server::Acceptor>> acceptor =
      server::Acceptor::Start(std::move(socket_), *peers_, *request_room_,
                              serve,
                              {.max_connections = kMaxConnections,
                               .max_message_bytes = kMaxMessageBytes,
                               .accounts = config_.identity.accounts,
                               .tls = &*tls_});
  if (!acceptor.ok()) return acceptor.status();
  acceptor_ = *std::move(acceptor);
  http_ =
      HttpServer::Start({.peers = *peers_,
                         .room = *request_room_,
                         .tls = *tls_,
                         .channel = inner_.grpc->InnerChannel(),
                         .ready = [this] { return nodes_.AnyThere(); },
                         .cors = config_.cors,
                         .port_domain = config_.ports.domain,
                         .links = links_.has_value() ? &*links_ : nullptr,
                         .bounds = {.message_bytes = kMaxMessageBytes,
                                    .connections = config_.http_connections},
                         .openapi = ""});
  absl::StatusOr<std::unique_ptr<server::TlsListener>> listener =
      server::TlsListener::Start(
          std::move(tls_sockets_), *tls_, config_.identity,
          std::bind_front(&server::Acceptor::Offer, acceptor_.get()),
          {.http1 = std::bind_front(&HttpServer::Offer, http_.get())});
  if (!listener.ok()) return listener.status();
  tls_listener_ = *std::move(listener);
  if (absl::Status done =
          metrics_.Serve(config_.metrics,
                         [this] {
                           return GatewayMetrics::State{
                               .nodes = nodes_.States(),
                               .grpc_connections = acceptor_->open(),
                               .http_connections = http_->connections()};
                         });
      !done.ok()) {
    return done;
  }
  for (size_t i = 0; i < ports_.size(); ++i) {
    server::Log(server::LogLevel::kInfo, "listening on with TLS",
                {{"address", config_.listen[i].ToString()},
                 {"port", int64_t{ports_[i]}}});
  }
  server::Log(
      server::LogLevel::kInfo, "listening on",
      {{"address", absl::StrCat("unix:", config_.socket)},
       {"version", server::kVersion},
       {"nodes", static_cast<uint64_t>(config_.nodes.addresses.size())}});
  return absl::OkStatus();
}

void Gateway::Run() {
  for (;;) {
    Look();
    struct pollfd poller = {signals_.get(), POLLIN, 0};
    if (::poll(&poller, 1,
               static_cast<int>(absl::ToInt64Milliseconds(kLookEvery))) <= 0) {
      continue;
    }
    struct signalfd_siginfo info = {};
    while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGHUP) return Stop();
      Reload();
    }
  }
}

void Gateway::Look() {
  if (const absl::Status state = credentials_->Refresh(); !state.ok()) {
    server::Log(server::LogLevel::kWarning, "credentials_wrong",
                {{"error", std::string(state.message())}});
  }
  peers_->calls().CancelUnproved([this](const server::Identity& caller) {
    return credentials_->Holds(caller);
  });
  const absl::Status before = tls_->state();
  const absl::Status tls =
      tls_->Replace(server::ReadTlsFiles(config_.tls), os::WallNow());
  if (!tls.ok() && tls != before) {
    server::Log(server::LogLevel::kError, "tls_files_wrong",
                {{"error", std::string(tls.message())},
                 {"so", "what was in force stays"}});
  }
  http_->CheckPeers();
  const bool serves = nodes_.AnyThere();
  if (serves == serving_) return;
  serving_ = serves;
  outer_.grpc->SetHealth("", serves);
}

void Gateway::Reload() {
  absl::StatusOr<GatewayConfig> next = LoadGatewayConfig(config_file_);
  absl::Status done = next.status();
  if (next.ok()) {
    const NodesConfig before = std::exchange(config_.nodes, next->nodes);
    done = FindNodes();
    if (!done.ok()) config_.nodes = before;
  }
  if (!done.ok()) {
    server::Log(server::LogLevel::kError, "reload_failed",
                {{"error", std::string(done.message())},
                 {"so", "the nodes that were in force stay"}});
    return;
  }
  server::Log(
      server::LogLevel::kInfo, "reloaded",
      {{"nodes", static_cast<uint64_t>(config_.nodes.addresses.size())}});
}

void Gateway::Stop() {
  server::Log(server::LogLevel::kInfo, "stopping");
  outer_.grpc->SetHealth("", false);
  metrics_.Stop();
  tls_listener_.reset();
  acceptor_.reset();
  server::ConnectionTap::HideNewCalls();
  absl::SleepFor(kNoticeWait);
  std::thread http([this] { http_->Stop(config_.drain_timeout); });
  outer_.grpc->Shutdown(config_.drain_timeout, [this] {
    server::CutConnections(config_.socket, ports_);
  });
  http.join();
  ::unlink(config_.socket.c_str());
}

}  // namespace sandglass::gateway
