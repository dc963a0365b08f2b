#include "sandbox/yard/egress_port.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/egress_fds.h"
#include "sandbox/wire/network_proto.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::sandbox {
namespace {

constexpr int kEgressReadyMs = 10'000;
// All it is asked is done at once, but that a lease's end waits for its
// connections.
constexpr int kAnswerTimeoutMs = 5000;
// One wait for an answer consists of this many shorter ones: after the whole
// machine stood still, one of them is over before the proxy has had a chance to
// answer.
constexpr int kLooks = 5;
constexpr int kBeatMs = 5000;
// The id for requests that concern no jail.
constexpr uint64_t kNoLease = 0;
constexpr int kEndTimeoutMs = 2000;
constexpr int64_t kNanosPerMilli = 1'000'000;

[[noreturn]] void DieInEgress(const char* what) {
  std::fprintf(stderr, "sandglassd: egress: %s: %s\n", what,
               os::ErrorText(errno).c_str());
  ::_exit(1);
}

// Runs in the child. Each descriptor gets the second number of its pair.
[[noreturn]] void BecomeEgress(uid_t uid, std::vector<std::pair<int, int>>& fds,
                               int executable) {
  // Numbers above every inherited one, so that moving a descriptor never
  // overwrites one that is still to be moved, and above all that are open.
  int safe = executable + 1;
  for (const auto& [from, to] : fds) safe = std::max({safe, from + 1, to + 1});
  for (auto& [from, to] : fds) {
    from = ::fcntl(from, F_DUPFD_CLOEXEC, safe);
    if (from < 0) DieInEgress("fcntl(F_DUPFD)");
  }
  const int own = ::fcntl(executable, F_DUPFD_CLOEXEC, safe);
  if (own < 0 || !os::CloseRange(3, safe - 1)) DieInEgress("close_range");
  for (const auto& [from, to] : fds) {
    if (::dup2(from, to) < 0) DieInEgress("dup2");
  }
  os::ResetSignals();
  (void)os::ForbidCrashHelper();  // else the layer core-limit says so
  if (const absl::Status dropped = DropPrivileges(uid, uid); !dropped.ok()) {
    std::fprintf(stderr, "sandglassd: egress: %s\n",
                 std::string(dropped.message()).c_str());
    ::_exit(1);
  }
  char name[] = "sandglass-egress";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  os::ExecFd(own, argv, envp);
  DieInEgress("exec sandglass-egress");
}

internal::EgressConfig ToEgressConfig(const EgressOptions& options) {
  internal::EgressConfig config;
  for (const JailTemplate& jail : options.templates) {
    if (jail.network == nullptr) continue;
    internal::NetworkTemplate& added = *config.add_templates();
    added.set_template_name(jail.name);
    *added.mutable_rules() = ToProto(*jail.network);
  }
  config.mutable_resolvers()->Assign(options.resolvers.begin(),
                                     options.resolvers.end());
  for (const auto& [name, file] : options.secrets) config.add_secrets(name);
  config.set_authority_certificate(options.authority_certificate);
  config.set_authority_key(options.authority_key);
  config.set_extra_roots(options.extra_roots);
  return config;
}

// Waits for the next packet.
absl::StatusOr<os::Packet> Receive(const os::Fd& channel, int timeout_ms) {
  struct pollfd fd = {channel.get(), POLLIN, 0};
  const int64_t end =
      os::MonotonicNanos() + int64_t{timeout_ms} * kNanosPerMilli;
  for (int looks = 0;;) {
    const int ready = ::poll(&fd, 1, timeout_ms / kLooks);
    if (ready < 0 && errno != EINTR) ::usleep(os::kShortagePauseMicros);
    if (ready > 0) {
      absl::StatusOr<os::Packet> packet =
          os::ReceivePacket(channel.get(), os::Wait::kNo);
      // No packet was delivered: the kernel was short of memory for it.
      if (!absl::IsNotFound(packet.status())) return packet;
    }
    if (ready == 0 ? ++looks == kLooks : os::MonotonicNanos() > end) {
      return absl::DeadlineExceededError("");
    }
  }
}

NetworkUse ToUse(const internal::NetworkUsage& from) {
  NetworkUse use = {.connections = from.connections(),
                    .refused = from.refused(),
                    .bytes_up = from.bytes_up(),
                    .bytes_down = from.bytes_down(),
                    .refusals = {}};
  for (const internal::NetworkRefusal& refusal : from.refusals()) {
    use.refusals.push_back(
        {refusal.target(), refusal.words(), refusal.count()});
  }
  return use;
}

}  // namespace

class EgressPort::Lease : public NetworkLease {
 public:
  Lease(EgressPort& port, uint64_t id) : port_(port), id_(id) {}
  ~Lease() override { port_.Close(id_); }

  absl::StatusOr<NetworkUse> Use() const override { return port_.Use(id_); }

 private:
  EgressPort& port_;
  const uint64_t id_;
};

absl::StatusOr<std::unique_ptr<EgressPort>> EgressPort::Start(
    const EgressOptions& options) {
  os::Fd executable(::open(options.path.c_str(), O_PATH | O_CLOEXEC));
  if (!executable.valid()) {
    return os::ErrnoStatus("open the egress proxy ", options.path);
  }
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  if (!channel.ok()) return channel.status();
  absl::StatusOr<os::Fd> config = os::MakeMemfd(
      "egress-config", ToEgressConfig(options).SerializeAsString());
  if (!config.ok()) return config.status();
  std::vector<std::pair<int, int>> fds = {
      {channel->second.get(), egress::kChannelFd},
      {config->get(), egress::kConfigFd}};
  if (options.template_ledger >= 0) {
    fds.emplace_back(options.template_ledger, egress::kTemplateLedgerFd);
  }
  int next = egress::kFirstSecretFd;
  for (const auto& [name, file] : options.secrets) {
    fds.emplace_back(file.get(), next++);
  }
  int pidfd = -1;
  const pid_t pid = os::Clone3({.pidfd = &pidfd});
  if (pid < 0) return os::ErrnoStatus("clone3 of the egress proxy");
  if (pid == 0) BecomeEgress(options.uid, fds, executable.get());
  std::unique_ptr<EgressPort> port(
      new EgressPort(std::move(channel->first), os::Fd(pidfd), pid));
  channel->second.reset();  // else its closing would never be noticed
  const absl::MutexLock lock(&port->mutex_);
  absl::StatusOr<os::Packet> packet = Receive(port->channel_, kEgressReadyMs);
  internal::EgressReady ready;
  if (!packet.ok() || !ready.ParseFromString(packet->data) || !ready.serves()) {
    os::PidfdSendSignal(port->pidfd_, SIGKILL);
    return absl::InternalError(
        "the egress proxy did not start; its reason is on stderr above");
  }
  return port;
}

absl::Status EgressPort::StartWatch(
    std::function<void(absl::Status)> on_death) {
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid()) return os::ErrnoStatus("eventfd");
  watch_ = std::thread([this, on_death = std::move(on_death)] {
    struct pollfd fds[2] = {{pidfd_.get(), POLLIN, 0},
                            {stop_.get(), POLLIN, 0}};
    int ready;
    while ((ready = ::poll(fds, 2, kBeatMs)) <= 0) {
      if (ready == 0 && !Lives()) break;
      // ENOMEM passes, and is nobody's death.
      if (ready < 0 && errno != EINTR) ::usleep(os::kShortagePauseMicros);
    }
    if (fds[1].revents != 0) return;
    on_death(absl::UnavailableError(fds[0].revents != 0
                                        ? "the egress proxy is gone"
                                        : "the egress proxy hangs"));
  });
  return absl::OkStatus();
}

EgressPort::~EgressPort() {
  if (watch_.joinable()) {
    const uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof(one));
    watch_.join();
  }
  {
    const absl::MutexLock lock(&mutex_);
    channel_.reset();
  }
  // The proxy ends when its channel does; the server has no right to kill it.
  struct pollfd fd = {pidfd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, kEndTimeoutMs) == 1) ::waitpid(pid_, nullptr, 0);
}

absl::StatusOr<internal::EgressAnswer> EgressPort::Ask(
    uint64_t id, const internal::EgressRequest& request,
    const std::vector<os::Fd>& fds) {
  const auto gone = [] {
    return absl::UnavailableError(
        "the egress proxy is gone; the daemon's log says why");
  };
  if (!channel_.valid()) return gone();
  std::vector<int> numbers;
  numbers.reserve(fds.size());
  for (const os::Fd& fd : fds) numbers.push_back(fd.get());
  absl::StatusOr<os::Packet> packet = gone();
  const absl::Status sent = os::SendPacket(
      channel_.get(), request.SerializeAsString(), numbers, os::Wait::kNo);
  // The proxy wasn't asked, so no late answer can come.
  if (absl::IsResourceExhausted(sent)) return sent;
  if (sent.ok()) packet = Receive(channel_, kAnswerTimeoutMs);
  internal::EgressAnswer answer;
  if (!packet.ok() || !answer.ParseFromString(packet->data) ||
      answer.lease_id() != id) {
    // Closed so that a late answer isn't mistaken for that of another question.
    channel_.reset();
    return gone();
  }
  if (answer.error() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(answer.error()),
                        answer.message());
  }
  return answer;
}

absl::StatusOr<std::unique_ptr<NetworkLease>> EgressPort::Open(
    const std::string& template_name, const std::vector<os::Fd>& doors) {
  const absl::MutexLock lock(&mutex_);
  const uint64_t id = next_id_++;
  internal::EgressRequest request;
  request.mutable_open()->set_lease_id(id);
  request.mutable_open()->set_template_name(template_name);
  absl::StatusOr<internal::EgressAnswer> answer = Ask(id, request, doors);
  if (!answer.ok()) return answer.status();
  return std::make_unique<Lease>(*this, id);
}

absl::StatusOr<NetworkUse> EgressPort::Use(uint64_t id) {
  internal::EgressRequest request;
  request.mutable_read()->set_lease_id(id);
  const absl::MutexLock lock(&mutex_);
  absl::StatusOr<internal::EgressAnswer> answer = Ask(id, request, {});
  if (!answer.ok()) return answer.status();
  return ToUse(answer->usage());
}

bool EgressPort::Lives() {
  internal::EgressRequest request;
  request.mutable_read()->set_lease_id(kNoLease);
  const absl::MutexLock lock(&mutex_);
  // That there is no such lease is an answer too, and so a sign of life.
  (void)Ask(kNoLease, request, {});
  return channel_.valid();
}

void EgressPort::Close(uint64_t id) {
  internal::EgressRequest request;
  request.mutable_close()->set_lease_id(id);
  const absl::MutexLock lock(&mutex_);
  // If the proxy is gone, it serves nobody anyway.
  (void)Ask(id, request, {});
}

}  // namespace sandglass::sandbox
