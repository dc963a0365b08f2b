// sandglass-spawner: makes and reaps the jails of one yard. Started by the
// daemon inside the yard's namespaces; not meant to be started by hand.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/spawner/spawner.h"
#include "sandbox/wire/spawner_fds.h"

namespace sandglass::sandbox {
namespace {

int Main() {
  if (::getpid() != 1) {
    std::fputs(
        "sandglass-spawner runs only as PID 1 of a yard; start sandglassd\n",
        stderr);
    return 2;
  }
  // The yard must not outlive the daemon. EOF of the channel says so too, but
  // this also works while the spawner is busy.
  os::SignalOnParentDeath(SIGKILL);
  os::SetNoNewPrivs();
  os::SetNonDumpable();

  os::Fd channel(kChannelFd);
  const os::Fd config_file(kConfigFd);
  internal::SpawnerConfig config;
  if (!config.ParseFromFileDescriptor(config_file.get())) {
    std::fputs("sandglass-spawner: unreadable configuration\n", stderr);
    return 1;
  }
  CgroupRoots roots;
  roots.v2.reset(kCgroupV2Fd);
  if (config.memory_on_v1()) roots.memory_v1.reset(kCgroupMemoryFd);
  if (config.pids_on_v1()) roots.pids_v1.reset(kCgroupPidsFd);
  if (config.cpu_on_v1()) roots.cpu_v1.reset(kCgroupCpuFd);
  if (config.io_on_v1()) roots.io_v1.reset(kCgroupIoFd);

  // Absent if no templates can come later.
  os::Fd ledger;
  if (::fcntl(kTemplateLedgerFd, F_SETFD, FD_CLOEXEC) == 0) {
    ledger.reset(kTemplateLedgerFd);
  }

  Spawner spawner(std::move(config), std::move(channel), std::move(roots),
                  std::move(ledger));
  const absl::Status status = spawner.Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "sandglass-spawner: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace sandglass::sandbox

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("sandglass-spawner " SANDGLASS_VERSION);
    return 0;
  }
  return sandglass::sandbox::Main();
}
