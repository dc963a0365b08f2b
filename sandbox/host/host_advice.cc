#include "sandbox/host/host_advice.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "policy/text/docs_page.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

// The capabilities that the start needs, besides SYS_ADMIN, whose absence shows
// in the namespaces.
constexpr std::pair<const char*, int> kRights[] = {
    {"CHOWN", 0},  {"FOWNER", 3},  {"SETGID", 6},
    {"SETUID", 7}, {"SETPCAP", 8}, {"SYS_ADMIN", 21}};

std::string Names(const std::vector<std::string>& rights) {
  return absl::StrCat("CAP_", absl::StrJoin(rights, ", CAP_"));
}

// Writes "a, b (why); c (why)": layers with the same reason are listed
// together.
std::string Missing(const HostReport& report) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Layer& layer : report.layers) {
    if (!layer.required || layer.state != LayerState::kNotAvailable) continue;
    if (reasons.empty() || reasons.back().first != layer.detail) {
      reasons.emplace_back(layer.detail, layer.name);
    } else {
      absl::StrAppend(&reasons.back().second, ", ", layer.name);
    }
  }
  return absl::StrJoin(reasons, "; ", [](std::string* out, const auto& reason) {
    absl::StrAppend(out, reason.second, " (", reason.first, ")");
  });
}

struct Causes {
  bool namespaces = false;
  bool users = false;  // the user namespace itself
  bool proc = false;
  bool groups = false;
  bool landlock = false;
};

Causes FindCauses(const HostReport& report) {
  Causes causes;
  for (const Layer& layer : report.layers) {
    if (!layer.required || layer.state != LayerState::kNotAvailable) continue;
    const std::string& name = layer.name;
    causes.users |= name == "user-namespace";
    causes.proc |= name == "fresh-proc";
    causes.landlock |= name == "landlock";
    causes.groups |=
        absl::EndsWith(name, "-limit") || absl::StartsWith(name, "cgroup-kill");
    causes.namespaces |= name == "mount-api" ||
                         (absl::EndsWith(name, "-namespace") && !causes.users);
  }
  return causes;
}

std::string ChrootAdvice() {
  return "This is a chroot, in which the kernel lets nobody make user "
         "namespaces. Let the directory be the root of a mount namespace, as a "
         "container engine has it, or systemd-nspawn -D DIRECTORY, or "
         "pivot_root(8). See docs/container.md";
}

std::string ContainerAdvice(const Causes& causes, const Surroundings& around) {
  std::vector<std::string> words;
  if (!around.missing_rights.empty()) {
    words.push_back(absl::StrCat("it lacks ", Names(around.missing_rights),
                                 " (--cap-add)"));
  } else if (causes.users) {
    words.push_back(
        "its host allows no user namespaces (sysctl user.max_user_namespaces), "
        "or its filter of system calls or AppArmor forbids them "
        "(--security-opt "
        "seccomp=, apparmor=)");
  } else if (causes.namespaces) {
    words.push_back(
        "its filter of system calls or AppArmor forbids them (--security-opt "
        "seccomp=, apparmor=)");
  } else if (causes.proc) {
    words.push_back(
        "its /proc is masked (--security-opt systempaths=unconfined)");
  }
  if (causes.groups) {
    words.push_back(
        "its control groups can't be used (--cgroupns=private, and writable)");
  }
  return absl::StrCat(
      "This is a container",
      words.empty() ? "" : absl::StrCat(": ", absl::StrJoin(words, "; ")),
      ". See ", policy::DocsPage("container.md"));
}

std::string HostAdvice(const Causes& causes, const Surroundings& around) {
  if (!around.missing_rights.empty()) {
    return absl::StrCat("Root lacks ", Names(around.missing_rights),
                        " here. See ", policy::DocsPage("container.md"));
  }
  if (causes.users) {
    return absl::StrCat(
        "Let root make user namespaces (sysctl user.max_user_namespaces; a "
        "security module). See ",
        policy::DocsPage("rootless.md"));
  }
  if (causes.namespaces) {
    return absl::StrCat(
        "A filter of system calls or a security module forbids them. See ",
        policy::DocsPage("container.md"));
  }
  if (causes.proc) {
    return absl::StrCat(
        "Part of /proc is masked or read-only, as in a container or under "
        "ProtectKernelTunables= and its like of a unit. See ",
        policy::DocsPage("container.md"));
  }
  if (causes.groups) {
    return absl::StrCat(
        "Give the daemon a control group of its own (Delegate=yes in a unit, "
        "or "
        "\"cgroup_parent\"). See ",
        policy::DocsPage("rootless.md"));
  }
  return absl::StrCat("See ", policy::DocsPage("security.md"));
}

// Whether the root directory isn't that of the mount namespace, as after
// chroot(8): from there the kernel lets nobody make user namespaces. Above the
// true root there is no other directory.
bool IsInChroot() {
  const pid_t child = ::fork();
  if (child == 0) {
    // A process whose root is further down may leave its old one upwards.
    struct stat root {};
    struct stat above {};
    const int old_root = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const bool outside =
        old_root >= 0 && ::fstat(old_root, &root) == 0 &&
        ::chroot("/usr") == 0 && ::fchdir(old_root) == 0 &&
        ::stat("..", &above) == 0 &&
        (root.st_dev != above.st_dev || root.st_ino != above.st_ino);
    ::_exit(outside ? 1 : 0);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child &&
         WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

}  // namespace

Surroundings ReadSurroundings() {
  Surroundings around;
  around.chroot = IsInChroot();
  around.container = ::access("/run/.containerenv", F_OK) == 0 ||
                     ::access("/.dockerenv", F_OK) == 0 ||
                     // NOLINTNEXTLINE(concurrency-mt-unsafe)
                     std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
                     // NOLINTNEXTLINE(concurrency-mt-unsafe)
                     std::getenv("container") != nullptr;
  const absl::StatusOr<std::string> status =
      os::ReadSmallFile(AT_FDCWD, "/proc/self/status");
  if (!status.ok()) return around;
  for (const absl::string_view line : absl::StrSplit(*status, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar("\t "), absl::SkipEmpty());
    uint64_t rights = 0;
    if (words.size() != 2 || words[0] != "CapEff:" ||
        !absl::SimpleHexAtoi(words[1], &rights)) {
      continue;
    }
    for (const auto& [name, bit] : kRights) {
      if ((rights >> bit & 1) == 0) around.missing_rights.emplace_back(name);
    }
  }
  return around;
}

bool IsExcusable(absl::string_view layer) {
  static const std::set<absl::string_view> kExcusable = {
      "landlock", "memory-limit", "pids-limit", "cpu-limit"};
  return kExcusable.count(layer) > 0;
}

absl::Status CheckMissing(const HostReport& report,
                          const Surroundings& around) {
  const std::string missing = Missing(report);
  if (missing.empty() && around.missing_rights.empty()) return absl::OkStatus();
  bool excusable = around.missing_rights.empty();
  for (const Layer& layer : report.layers) {
    excusable &= !layer.required || layer.state != LayerState::kNotAvailable ||
                 IsExcusable(layer.name);
  }
  const Causes causes = FindCauses(report);
  return absl::FailedPreconditionError(absl::StrCat(
      missing.empty() ? "root can't make jails here"
                      : "this host lacks required isolation: ",
      missing, ". ",
      causes.users && around.chroot ? ChrootAdvice()
      : around.container            ? ContainerAdvice(causes, around)
                                    : HostAdvice(causes, around),
      excusable ? ", or accept the weaker jail with --excuse-missing NAME"
                : ""));
}

}  // namespace sandglass::sandbox
