#include "sandbox/host/host_probe.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sandbox/host/cgroup_tree.h"
#include "sandbox/host/disks.h"
#include "sandbox/host/host_advice.h"
#include "sandbox/host/host_helpers.h"
#include "sandbox/os/files.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

// Runs `attempt` in a throwaway child with `flags`. Returns 0 when it returned
// true, else an errno; the child passes on the errno of the attempt as its exit
// code.
int TryInChild(uint64_t flags, const std::function<bool()>& attempt) {
  const pid_t pid = os::Clone3({.flags = flags});
  if (pid < 0) return errno;
  if (pid == 0) {
    errno = 0;
    const bool ok = attempt();
    ::_exit(ok ? 0 : (errno > 0 && errno < 255 ? errno : 255));
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

// Some containers' system call filters allow all the mount calls but not
// pivot_root(2).
bool CanPivotRoot() {
  if (!os::MakeMountsPrivate()) return false;
  const os::Fd tree = os::CloneTree("/usr");
  return tree.valid() && os::AttachTree(tree, "/usr") && ::chdir("/usr") == 0 &&
         os::PivotRoot(".", ".");
}

struct Trial {
  const char* name;
  bool required;
  const char* detail;  // when it works
  int error;
};

void Add(HostReport& report, const Trial& trial) {
  report.layers.push_back(
      {trial.name,
       trial.error == 0 ? LayerState::kInForce : LayerState::kNotAvailable,
       trial.required,
       trial.error == 0
           ? trial.detail
           : absl::StrCat("trial failed: ", os::ErrorText(trial.error))});
}

void ProbeNamespaces(HostReport& report) {
  const auto nothing = [] { return true; };
  struct Namespace {
    const char* name;
    uint64_t flag;
  };
  static constexpr Namespace kNamespaces[] = {
      {"user-namespace", os::kNewUser},
      {"pid-namespace", os::kNewPid},
      {"network-namespace", os::kNewNetwork},
      {"ipc-namespace", os::kNewIpc},
      {"uts-namespace", os::kNewUts},
      {"cgroup-namespace", os::kNewCgroup}};
  for (const Namespace& ns : kNamespaces) {
    Add(report,
        {ns.name, true, "own for each jail", TryInChild(ns.flag, nothing)});
  }
  Add(report, {"mount-namespace", true, "own for each jail, and its own root",
               TryInChild(os::kNewMount, CanPivotRoot)});
  Add(report, {"mount-api", true, "detached trees with attributes (Linux 5.12)",
               TryInChild(os::kNewMount, [] {
                 const os::Fd tree = os::CloneTree("/usr");
                 return tree.valid() && os::SetTreeAttributes(tree, 0);
               })});
  Add(report, {"fresh-proc", true, "/proc of each jail shows that jail only",
               TryInChild(os::kNewMount | os::kNewPid, [] {
                 return os::MakeMountsPrivate() && os::MountProc("/proc", {});
               })});
}

void ProbeSeccomp(HostReport& report) {
  Add(report, {"no-new-privs", true, "set for every program",
               TryInChild(0, [] { return os::SetNoNewPrivs(); })});
  Add(report,
      {"seccomp", true, "allow list of system calls", TryInChild(0, [] {
         const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
         return os::SetNoNewPrivs() && os::InstallSeccompFilter({&allow, 1});
       })});
}

void ProbeLandlock(HostReport& report) {
  report.landlock_abi = os::LandlockAbi();
  const int abi = report.landlock_abi;
  const auto add = [&](const char* name, bool required, bool there,
                       std::string detail) {
    report.layers.push_back(
        {name, there ? LayerState::kInForce : LayerState::kNotAvailable,
         required, std::move(detail)});
  };
  add("landlock", true, abi >= 1,
      abi >= 1 ? absl::StrCat("ABI ", abi, ": file system rules")
               : "not built into this kernel or not in its lsm= list");
  add("landlock-scopes", false, abi >= 6,
      abi >= 6 ? "abstract unix sockets and signals end at the jail"
               : "needs ABI 6 (Linux 6.12); namespaces stand in");
}

// Tries to cap each disk, if that needs no change to the host's own groups.
// Returns 0 or an errno.
int TryDiskCaps(const CgroupHost& host, const std::vector<std::string>& disks) {
  if (host.io_v1_parent.empty()) return 0;
  const std::string trial =
      absl::StrCat(host.io_v1_parent, "/sandglass-probe-", ::getpid());
  if (::mkdir(trial.c_str(), 0755) != 0) return errno;
  int error = 0;
  for (const std::string& disk : disks) {
    if (!os::WriteControlFile(
            AT_FDCWD, (trial + "/blkio.throttle.read_bps_device").c_str(),
            absl::StrCat(disk, " 1073741824"))) {
      error = errno;
    }
  }
  ::rmdir(trial.c_str());
  return error;
}

void ProbeDiskCaps(HostReport& report, const CgroupHost& host,
                   const std::vector<std::string>& places) {
  const Disks disks = FindDisks(places);
  const std::string without =
      disks.without.empty()
          ? ""
          : absl::StrCat("not for ", absl::StrJoin(disks.without, ", "));
  std::string why;
  if (!host.has_io()) {
    why = "no such controller that can be used here";
  } else if (disks.numbers.empty()) {
    why = without.empty() ? "what jails read is on no disk" : without;
  } else if (const int error = TryDiskCaps(host, disks.numbers); error != 0) {
    why = absl::StrCat("trial failed: ", os::ErrorText(error));
  }
  if (!why.empty()) {
    report.layers.push_back(
        {kDiskCapLayer, LayerState::kNotAvailable, false, why});
    return;
  }
  report.disks = disks.numbers;
  report.layers.push_back(
      {kDiskCapLayer, LayerState::kInForce, false,
       absl::StrCat(host.io_v1_parent.empty()
                        ? "cgroup v2"
                        : "cgroup v1: reads, and writes past the page cache",
                    ", where a profile has one; disks ",
                    absl::StrJoin(disks.numbers, ", "),
                    without.empty() ? "" : "; ", without)});
}

void ProbeCgroups(HostReport& report, const std::vector<std::string>& places) {
  const absl::StatusOr<CgroupHost> host = FindCgroups("");
  const auto add = [&](const char* name, bool required, bool there,
                       std::string detail) {
    report.layers.push_back(
        {name, there ? LayerState::kInForce : LayerState::kNotAvailable,
         required, std::move(detail)});
  };
  if (!host.ok()) {
    for (const char* name :
         {"memory-limit", "pids-limit", "cpu-limit", "cgroup-kill"}) {
      add(name, true, false, std::string(host.status().message()));
    }
    add(kDiskCapLayer, false, false, std::string(host.status().message()));
    return;
  }
  const auto where = [](const std::string& v1, bool v2) {
    return v1.empty()
               ? (v2 ? "cgroup v2" : "no such controller that can be used here")
               : "cgroup v1";
  };
  add("memory-limit", true, host->has_memory(),
      where(host->memory_v1_parent, host->v2_has_memory));
  add("pids-limit", true, host->has_pids(),
      where(host->pids_v1_parent, host->v2_has_pids));
  add("cpu-limit", true, host->has_cpu(),
      where(host->cpu_v1_parent, host->v2_has_cpu));
  // cgroup.kill: Linux 5.14. The real root doesn't have this file, so a trial
  // group is made.
  const std::string trial =
      absl::StrCat(host->v2_parent, "/sandglass-probe-", ::getpid());
  const bool made = ::mkdir(trial.c_str(), 0755) == 0;
  const bool kill =
      made && ::access((trial + "/cgroup.kill").c_str(), W_OK) == 0;
  const int error = made ? 0 : errno;
  if (made) ::rmdir(trial.c_str());
  add("cgroup-kill", true, kill,
      kill   ? "a whole jail dies at once"
      : made ? "needs Linux 5.14"
             : absl::StrCat("can't make a group in ", host->v2_parent, ": ",
                            os::ErrorText(error)));
  ProbeDiskCaps(report, *host, places);
}

void ProbeHelpers(HostReport& report) {
  HelperSettings settings{.kernel = report.kernel};
  ReadHelperSysctls(settings);
  settings.can_forbid_crash_helper =
      TryInChild(0, [] { return os::ForbidCrashHelper(); }) == 0;
  for (Layer& layer : JudgeHelpers(settings)) {
    report.layers.push_back(std::move(layer));
  }
}

}  // namespace

HostReport ProbeHost(const std::vector<std::string>& disk_places) {
  HostReport report;
  struct utsname name = {};
  if (::uname(&name) == 0) report.kernel = name.release;
  ProbeNamespaces(report);
  ProbeSeccomp(report);
  ProbeLandlock(report);
  ProbeCgroups(report, disk_places);
  ProbeHelpers(report);
  return report;
}

std::string WhyNoDiskCap(const HostReport& report) {
  for (const Layer& layer : report.layers) {
    if (layer.name != kDiskCapLayer) continue;
    return layer.state == LayerState::kInForce ? "" : layer.detail;
  }
  return "the host was not probed";
}

absl::Status RequireLayers(HostReport& report,
                           const std::vector<std::string>& excused) {
  for (const std::string& name : excused) {
    bool known = false;
    for (Layer& layer : report.layers) {
      if (layer.name != name) continue;
      known = IsExcusable(name) || !layer.required;
      // An excuse can't switch off what the host has.
      if (layer.state == LayerState::kNotAvailable) {
        layer.state = LayerState::kExcused;
      }
    }
    if (!known) {
      std::vector<std::string> names;
      for (const Layer& layer : report.layers) {
        if (IsExcusable(layer.name)) names.push_back(layer.name);
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name,
          "' can't be excused; these can: ", absl::StrJoin(names, ", ")));
    }
  }
  return CheckMissing(report, ReadSurroundings());
}

absl::Status CheckCallTracing() {
  const int error = TryInChild(0, [] {
    const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return os::SetNoNewPrivs() && os::InstallAskingFilter({&allow, 1}).valid();
  });
  if (error == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "system calls can't be traced here: a filter with a listener can't be "
      "installed: ",
      os::ErrorText(error),
      error == EBUSY ? "; a container's own filter listens already, which "
                       "leaves no place for another"
                     : "; it takes Linux 5.0 with CONFIG_SECCOMP_FILTER"));
}

}  // namespace sandglass::sandbox
