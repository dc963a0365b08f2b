#include "bench/daemon_groups.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

namespace fs = std::filesystem;

// The number after `key` at the beginning of a line; an empty key: the file's
// first. nullopt when it isn't there.
std::optional<uint64_t> ReadNumber(const std::string& path,
                                   const std::string& key = "") {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  if (key.empty()) {
    if (file >> number) return number;
    return std::nullopt;
  }
  for (std::string line; file >> word; std::getline(file, line)) {
    if (word == key && file >> number) return number;
  }
  return std::nullopt;
}

// The directories right below.
std::vector<fs::path> Below(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  return found;
}

std::vector<pid_t> ProcessesIn(const fs::path& group) {
  std::vector<pid_t> pids;
  std::ifstream file(group / "cgroup.procs");
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  for (const fs::path& inner : Below(group)) {
    const std::vector<pid_t> more = ProcessesIn(inner);
    pids.insert(pids.end(), more.begin(), more.end());
  }
  return pids;
}

// Init waits in every jail; whoever else is there is an interpreter.
bool AddJail(const fs::path& group, IdleJails& kind) {
  const std::vector<pid_t> pids = ProcessesIn(group);
  if (pids.size() < 2) return false;
  for (const pid_t pid : pids) {
    const std::string path = absl::StrCat("/proc/", pid, "/smaps_rollup");
    kind.pss +=
        1024.0 * static_cast<double>(ReadNumber(path, "Pss:").value_or(0));
  }
  const std::string stat = group / "memory.stat";
  const auto first = [](std::optional<uint64_t> v1,
                        std::optional<uint64_t> v2) {
    return static_cast<double>(v1.has_value() ? *v1 : v2.value_or(0));
  };
  kind.kernel += first(ReadNumber(group / "memory.kmem.usage_in_bytes"),
                       ReadNumber(stat, "kernel"));
  kind.tmpfs +=
      first(ReadNumber(stat, "total_shmem"), ReadNumber(stat, "shmem"));
  ++kind.count;
  return true;
}

}  // namespace

absl::StatusOr<DaemonGroups> DaemonGroups::Open(const std::string& state_dir) {
  DaemonGroups groups;
  std::ifstream file(state_dir + "/cgroups");
  for (std::string path; std::getline(file, path);) {
    os::Fd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) return os::ErrnoStatus("open ", path);
    groups.roots_.push_back(std::move(root));
  }
  if (groups.roots_.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no control groups are named in ", state_dir));
  }
  return groups;
}

std::vector<std::string> DaemonGroups::Roots() const {
  std::vector<std::string> paths;
  for (const os::Fd& root : roots_) {
    paths.push_back(absl::StrCat("/proc/self/fd/", root.get()));
  }
  return paths;
}

std::optional<absl::Duration> DaemonGroups::Cpu() const {
  for (const std::string& root : Roots()) {
    // Every v2 group has it, with the controller or without.
    if (const auto micros = ReadNumber(root + "/cpu.stat", "usage_usec")) {
      return absl::Microseconds(*micros);
    }
    if (const auto nanos = ReadNumber(root + "/cpuacct.usage")) {
      return absl::Nanoseconds(*nanos);
    }
  }
  return std::nullopt;
}

std::string DaemonGroups::MemoryRoot() const {
  for (const std::string& root : Roots()) {
    if (::access((root + "/memory.stat").c_str(), R_OK) == 0) return root;
  }
  return "";
}

uint64_t DaemonGroups::MemoryBytes() const {
  const std::string root = MemoryRoot();
  if (const auto v1 = ReadNumber(root + "/memory.usage_in_bytes")) return *v1;
  return ReadNumber(root + "/memory.current").value_or(0);
}

std::vector<IdleJails> DaemonGroups::Idle() const {
  constexpr char kYard[] = "yard-";
  std::vector<IdleJails> kinds;
  for (const fs::path& yard : Below(MemoryRoot())) {
    const std::string name = yard.filename();
    if (!absl::StartsWith(name, kYard)) continue;
    IdleJails kind = {.kind = name.substr(sizeof(kYard) - 1)};
    for (const fs::path& jail : Below(yard)) {
      if (absl::StartsWith(jail.filename().string(), "jail-")) {
        AddJail(jail, kind);
      }
    }
    const auto count = static_cast<double>(std::max<size_t>(kind.count, 1));
    for (double* bytes : {&kind.pss, &kind.kernel, &kind.tmpfs}) {
      *bytes /= count;
    }
    if (kind.count > 0) kinds.push_back(kind);
  }
  return kinds;
}

size_t DaemonGroups::Processes() const {
  size_t max = 0;
  for (const std::string& root : Roots()) {
    max = std::max(max, ProcessesIn(root).size());
  }
  return max;
}

}  // namespace sandglass::bench
