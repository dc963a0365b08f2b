#include "sandbox/yard/yard.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/spawner_fds.h"

namespace sandglass::sandbox {
namespace {

constexpr int kSpawnerReadyMs = 10'000;
// Above every inherited number, so that moving descriptors never overwrites one
// that is still to be moved.
constexpr int kSafeFd = 64;
constexpr int kExecutableFd = 13;

struct InheritedFd {
  int from;
  int to;
};

// Runs in the child; writes to stderr what failed (the parent only reports that
// something did) and ends.
[[noreturn]] void DieInYard(const char* what) {
  std::fprintf(stderr, "sandglassd: yard: %s: %s\n", what,
               os::ErrorText(errno).c_str());
  ::_exit(1);
}

void EnterYardRoot(const std::string& root) {
  // A copy, because the original is locked against pivot_root in a copied mount
  // namespace of a less privileged user namespace.
  const os::Fd tree = os::CloneTree(root.c_str());
  if (!tree.valid() || !os::AttachTree(tree, root.c_str())) {
    DieInYard("copy root");
  }
  if (::chdir(root.c_str()) != 0) DieInYard("chdir");
  // A /proc of the yard's own pid namespace, while the full one that root put
  // into view is still there (the kernel demands that).
  if (!os::MountProc("proc",
                     {.flags = os::kNoSuid | os::kNoDev | os::kNoExec})) {
    DieInYard("mount proc");
  }
  if (!os::PivotRoot(".", ".") || !os::DetachMount(".") || ::chdir("/") != 0) {
    DieInYard("pivot_root");
  }
}

void PlaceFds(const std::vector<InheritedFd>& fds) {
  std::vector<InheritedFd> safe;
  for (const InheritedFd& fd : fds) {
    const int moved = ::fcntl(fd.from, F_DUPFD_CLOEXEC, kSafeFd);
    if (moved < 0) DieInYard("fcntl(F_DUPFD)");
    safe.push_back({moved, fd.to});
  }
  for (int fd = 3; fd <= kExecutableFd; ++fd) ::close(fd);
  for (const InheritedFd& fd : safe) {
    if (::dup2(fd.from, fd.to) < 0) DieInYard("dup2");
  }
  if (!os::CloseFrom(kExecutableFd + 1)) DieInYard("close_range");
  if (::fcntl(kExecutableFd, F_SETFD, FD_CLOEXEC) != 0) DieInYard("fcntl");
}

[[noreturn]] void BecomeSpawner(const YardOptions& options, int go,
                                const std::vector<InheritedFd>& fds) {
  char byte;
  // When this byte has arrived, the parent has written the maps; it closes the
  // pipe if it can't.
  if (::read(go, &byte, 1) != 1) ::_exit(1);
  if (!os::MakeMountsPrivate()) DieInYard("make mounts private");
  // ORDER: before the ids change, since only root may walk into the state
  // directory.
  EnterYardRoot(options.root);
  if (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 ||
      ::setresuid(0, 0, 0) != 0) {
    DieInYard("become the yard's root");
  }
  const int null = ::open("/images/default/dev/null", O_RDWR);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(null, 1) < 0) {
    DieInYard("stdio");
  }
  if (null > 2) ::close(null);
  if (::sethostname("sandglass-yard", 14) != 0) DieInYard("sethostname");
  // Where it can't be, the layer core-limit says so.
  (void)os::ForbidCrashHelper();
  PlaceFds(fds);
  // Executes itself anew: a process that only entered a user namespace keeps
  // the old owner of its memory, and jails could then not be joined through
  // their pidfds.
  char name[] = "sandglass-spawner";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  os::ExecFd(kExecutableFd, argv, envp);
  DieInYard("exec sandglass-spawner");
}

absl::Status WriteMaps(pid_t pid, const UidSlice& uids) {
  const std::string map = absl::StrCat("0 ", uids.first, " ", uids.count);
  for (const char* file : {"uid_map", "gid_map"}) {
    const std::string path = absl::StrCat("/proc/", pid, "/", file);
    if (!os::WriteControlFile(AT_FDCWD, path.c_str(), map + "\n")) {
      return os::ErrnoStatus("write '", map, "' to ", path);
    }
  }
  return absl::OkStatus();
}

absl::Status MoveIntoLeaves(const YardCgroups& cgroups, pid_t pid) {
  for (const os::Fd& leaf : cgroups.spawner_leaves) {
    if (!os::WriteControlFile(leaf.get(), "cgroup.procs", absl::StrCat(pid))) {
      return os::ErrnoStatus("move the spawner into its control group");
    }
  }
  return absl::OkStatus();
}

absl::Status AwaitReady(const os::Fd& channel) {
  struct pollfd fd = {channel.get(), POLLIN, 0};
  int ready;
  do {
    ready = ::poll(&fd, 1, kSpawnerReadyMs);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    return absl::DeadlineExceededError("the spawner did not report in 10 s");
  }
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(channel.get(), os::Wait::kYes);
  internal::SpawnerEvent event;
  if (!packet.ok() || !event.ParseFromString(packet->data) ||
      !event.has_ready()) {
    return absl::InternalError(
        "the spawner ended while starting; its reason is on stderr above");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Yard> StartYard(const YardOptions& options,
                               const YardCgroups& cgroups) {
  // A mount for this one file alone. It is executed by the spawner and its
  // copies, inits among them, until they execute something else.
  const os::Fd executable = os::CloneTree(options.spawner_path.c_str());
  if (!executable.valid()) {
    return os::ErrnoStatus("copy the mount of the spawner ",
                           options.spawner_path);
  }
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  if (!channel.ok()) return channel.status();
  absl::StatusOr<os::Fd> config =
      os::MakeMemfd("spawner-config", options.config.SerializeAsString());
  if (!config.ok()) return config.status();
  int go[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return os::ErrnoStatus("pipe2");
  os::Fd go_read(go[0]);
  os::Fd go_write(go[1]);

  std::vector<InheritedFd> fds = {{channel->second.get(), kChannelFd},
                                  {config->get(), kConfigFd},
                                  {cgroups.v2.get(), kCgroupV2Fd},
                                  {executable.get(), kExecutableFd}};
  for (const auto& [from, to] :
       {std::pair(cgroups.memory_v1.get(), kCgroupMemoryFd),
        std::pair(cgroups.pids_v1.get(), kCgroupPidsFd),
        std::pair(cgroups.cpu_v1.get(), kCgroupCpuFd),
        std::pair(cgroups.io_v1.get(), kCgroupIoFd),
        std::pair(options.template_ledger, kTemplateLedgerFd)}) {
    if (from >= 0) fds.push_back({from, to});
  }
  absl::StatusOr<os::Fd> library = os::Fd();
  absl::StatusOr<os::Fd> script = os::Fd();
  if (options.config.has_zygote()) {
    // In memory, so that an image needn't contain either file.
    library = os::MakeMemfd("sandglass-zygote", options.zygote_library);
    script = os::MakeMemfd("zygote", options.zygote_script);
    if (!library.ok()) return library.status();
    if (!script.ok()) return script.status();
    fds.push_back({library->get(), kZygoteLibraryFd});
    fds.push_back({script->get(), kZygoteScriptFd});
  }

  int pidfd = -1;
  // The yard gets a network namespace too: in that of the host the spawner
  // could never come back to it after entering a jail's.
  const pid_t pid =
      os::Clone3({.flags = os::kNewUser | os::kNewMount | os::kNewPid |
                           os::kNewNetwork | os::kNewIpc | os::kNewUts,
                  .pidfd = &pidfd});
  if (pid < 0) return os::ErrnoStatus("clone3 of the yard");
  if (pid == 0) {
    go_write.reset();
    BecomeSpawner(options, go_read.get(), fds);
  }
  Yard yard;
  yard.pid = pid;
  yard.pidfd.reset(pidfd);
  yard.channel = std::move(channel->first);
  channel->second.reset();  // else the spawner's end would go unnoticed
  absl::Status status = WriteMaps(pid, options.uids);
  if (status.ok()) status = MoveIntoLeaves(cgroups, pid);
  if (status.ok() && ::write(go_write.get(), "g", 1) != 1) {
    status = os::ErrnoStatus("start the yard");
  }
  if (status.ok()) status = AwaitReady(yard.channel);
  // The spawner is running by now, and nobody executes its file again. In a
  // process that an init starts, /proc/self/exe refers to it: the one file of
  // the host that such a process could otherwise still execute
  // (`#!/proc/self/exe`).
  if (status.ok() &&
      !os::SetTreeAttributes(
          executable, os::kReadOnly | os::kNoSuid | os::kNoDev | os::kNoExec)) {
    status = os::ErrnoStatus("forbid to execute the spawner once more");
  }
  if (!status.ok()) {
    os::PidfdSendSignal(yard.pidfd, SIGKILL);
    return status;
  }
  return yard;
}

}  // namespace sandglass::sandbox
