// sandglass-egress: connects programs in jails with the hosts that their
// profiles allow. Started by the daemon, with an uid of its own and no rights;
// not meant to be started by hand.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "internal/egress.pb.h"
#include "policy/seccomp/egress_filter.h"
#include "sandbox/egress/service.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/egress_fds.h"

namespace sandglass::egress {
namespace {

// Restricts file access to what is needed to resolve names and to check
// servers' certificates.
bool KeepToOwnFiles() {
  const int abi = os::LandlockAbi();
  if (abi == 0) return true;
  const os::LandlockPath paths[] = {
      {"/etc", os::LandlockAccess::kRead},
      {"/run/systemd/resolve", os::LandlockAccess::kRead},
      {"/run/resolvconf", os::LandlockAccess::kRead},
      {"/run/NetworkManager", os::LandlockAccess::kRead},
      {"/usr/lib/ssl", os::LandlockAccess::kRead},
      {"/usr/share/ca-certificates", os::LandlockAccess::kRead},
      {"/usr/local/share/ca-certificates", os::LandlockAccess::kRead}};
  const os::Fd ruleset = os::MakeLandlockRuleset(abi, paths);
  return ruleset.valid() && os::LandlockRestrictSelf(ruleset);
}

// A line end at the end of a file isn't part of the secret.
absl::StatusOr<Secrets> ReadSecrets(const internal::EgressConfig& config) {
  std::map<std::string, std::string> values;
  for (int i = 0; i < config.secrets_size(); ++i) {
    const os::Fd file(kFirstSecretFd + i);
    std::string& value = values[config.secrets(i)];
    value.resize(kMaxSecretBytes + 1);
    const ssize_t size = ::pread(file.get(), value.data(), value.size(), 0);
    value.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    if (!value.empty() && value.back() == '\n') value.pop_back();
  }
  return Secrets::Create(std::move(values));
}

// Before any thread is started: then all threads have the filter.
bool InstallFilter() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The sanitizers' runtimes start processes and look at threads.
  return true;
#else
  const absl::StatusOr<policy::BpfProgram> filter = policy::MakeEgressFilter();
  return filter.ok() && os::InstallSeccompFilter(*filter);
#endif
}

absl::Status Serve(Service& service, int channel) {
  for (;;) {
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(channel, os::Wait::kYes);
    if (absl::IsOutOfRange(packet.status())) return absl::OkStatus();
    if (!packet.ok()) return packet.status();
    const absl::StatusOr<internal::EgressAnswer> answer =
        service.Answer(*std::move(packet));
    if (!answer.ok()) return answer.status();
    if (absl::Status sent = os::SendPacket(channel, answer->SerializeAsString(),
                                           {}, os::Wait::kYes);
        !sent.ok()) {
      return sent;
    }
  }
}

absl::Status Run(int channel) {
  internal::EgressConfig config;
  if (!config.ParseFromFileDescriptor(os::Fd(kConfigFd).get())) {
    return absl::InvalidArgumentError("unreadable configuration");
  }
  os::Fd ledger;
  if (::fcntl(kTemplateLedgerFd, F_SETFD, FD_CLOEXEC) == 0) {
    ledger.reset(kTemplateLedgerFd);
  }
  absl::StatusOr<Secrets> secrets = ReadSecrets(config);
  if (!secrets.ok()) return secrets.status();
  absl::StatusOr<std::unique_ptr<Service>> service =
      Service::Create(config, *std::move(secrets), std::move(ledger));
  if (!service.ok()) return service.status();
  internal::EgressReady ready;
  ready.set_serves(true);
  if (absl::Status sent = os::SendPacket(channel, ready.SerializeAsString(), {},
                                         os::Wait::kYes);
      !sent.ok()) {
    return sent;
  }
  return Serve(**service, channel);
}

int Main() {
  if (::fcntl(kChannelFd, F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(kConfigFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("sandglass-egress runs only below a daemon; start sandglassd\n",
               stderr);
    return 2;
  }
  // A signal to the terminal's whole process group is for the server to handle.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    ::signal(signal, SIG_IGN);
  }
  os::SignalOnParentDeath(SIGKILL);
  os::Fd channel(kChannelFd);
  if (!os::SetNoNewPrivs() || !os::SetNonDumpable() || !KeepToOwnFiles() ||
      !InstallFilter()) {
    std::perror("sandglass-egress: give up rights");
    return 1;
  }
  const absl::Status status = Run(channel.get());
  if (status.ok()) return 0;
  std::fprintf(stderr, "sandglass-egress: %s\n",
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace sandglass::egress

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("sandglass-egress " SANDGLASS_VERSION);
    return 0;
  }
  return sandglass::egress::Main();
}
