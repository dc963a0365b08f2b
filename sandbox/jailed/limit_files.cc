#include "sandbox/jailed/limit_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kMaxBytes = 4 << 20;
// With a link for each group that init may make for a process.
constexpr uint64_t kMaxFiles = 8192;
constexpr uint64_t kAttributes =
    os::kReadOnly | os::kNoSuid | os::kNoDev | os::kNoExec;

constexpr const char* kDirectories[] = {
    "proc",
    "sys",
    "sys/fs",
    "sys/fs/cgroup",
    "sys/devices",
    "sys/devices/system",
    "sys/devices/system/cpu",
    "group",
};
constexpr const char* kProcFiles[] = {"cgroups", "cpuinfo", "meminfo", "stat"};

struct Link {
  const char* place;
  const char* target;
};
constexpr Link kLinks[] = {
    {"group/memory.high", "memory.max"},
    {"group/cpuset.cpus.effective", "/sys/devices/system/cpu/online"},
    {"sys/devices/system/cpu/present", "online"},
    {"sys/devices/system/cpu/possible", "online"},
};

// Controllers as in version 2, whatever the host has.
constexpr char kCgroups[] =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
    "cpuset\t0\t1\t1\ncpu\t0\t1\t1\ncpuacct\t0\t1\t1\nio\t0\t1\t1\n"
    "memory\t0\t1\t1\npids\t0\t1\t1\n";
constexpr char kControllers[] = "cpuset cpu io memory pids\n";
constexpr uint64_t kPeriodMicros = 100'000;

bool WriteAt(const os::Fd& directory, const char* name,
             absl::string_view text) {
  const os::Fd file(::openat(directory.get(), name,
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  while (file.valid() && !text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return file.valid();
}

// The text of the first processors, at most `most`; says how many there are.
absl::string_view FirstProcessors(absl::string_view cpuinfo, uint64_t most,
                                  uint64_t& count) {
  size_t end = 0;
  for (count = 0; count < most && end < cpuinfo.size(); ++count) {
    const size_t gap = cpuinfo.find("\n\n", end);
    end = gap == absl::string_view::npos ? cpuinfo.size() : gap + 2;
  }
  count = std::max<uint64_t>(count, 1);
  return cpuinfo.substr(0, end);
}

// What is used or free now isn't in any of these files: it would have to be
// kept up to date.
std::string MeminfoText(uint64_t bytes) {
  std::string text;
  const auto add = [&text](absl::string_view name, uint64_t kib) {
    absl::StrAppend(
        &text, name, ":",
        std::string(23 - name.size() - absl::StrCat(kib).size(), ' '), kib,
        " kB\n");
  };
  const uint64_t kib = bytes >> 10;
  for (const char* name : {"MemTotal", "MemFree", "MemAvailable"}) {
    add(name, kib);
  }
  for (const char* name :
       {"Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal",
        "SwapFree", "Dirty", "AnonPages", "Mapped", "Shmem", "Slab",
        "SReclaimable", "SUnreclaim"}) {
    add(name, 0);
  }
  add("CommitLimit", kib);
  add("Committed_AS", 0);
  return text;
}

// Only the time of boot is the host's: ps computes with it.
std::string StatText(uint64_t processors) {
  std::string text = "cpu  0 0 0 0 0 0 0 0 0 0\n";
  for (uint64_t i = 0; i < processors; ++i) {
    absl::StrAppend(&text, "cpu", i, " 0 0 0 0 0 0 0 0 0 0\n");
  }
  struct timespec now = {}, since_boot = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const int64_t boot = now.tv_sec - since_boot.tv_sec -
                       (now.tv_nsec < since_boot.tv_nsec ? 1 : 0);
  absl::StrAppend(&text, "intr 0\nctxt 0\nbtime ", boot,
                  "\nprocesses 0\nprocs_running 1\nprocs_blocked 0\n"
                  "softirq 0 0 0 0 0 0 0 0 0 0 0\n");
  return text;
}

bool MakePlaces(const std::string& top) {
  const std::string root = kYardMount;
  for (const char* name : kDirectories) {
    if (::mkdir(absl::StrCat(top, "/", name).c_str(), 0755) != 0) return false;
  }
  for (const Link& link : kLinks) {
    const std::string place = absl::StrCat(top, "/", link.place);
    if (::symlink(link.target, place.c_str()) != 0) return false;
  }
  for (const char* name : kProcFiles) {
    const std::string file = absl::StrCat(top, "/proc/", name);
    const std::string over = absl::StrCat(root, "/proc/", name);
    struct stat info = {};
    // A kernel may have been built without one.
    if (::stat(over.c_str(), &info) != 0) continue;
    const os::Fd made(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!made.valid() ||
        !os::BindWith(file.c_str(), over.c_str(), kAttributes)) {
      return false;
    }
  }
  return true;
}

}  // namespace

os::Fd MountLimitFiles() {
  const std::string root = kYardMount;
  // Above what is mounted there already, and as unseen as that.
  const std::string top = kYardScratch;
  if (!os::MountTmpfs(kYardScratch, {.bytes = kMaxBytes,
                                     .inodes = kMaxFiles,
                                     .mode = 0755,
                                     .flags = kAttributes & ~os::kReadOnly}) ||
      !MakePlaces(top) ||
      !os::BindWith((top + "/sys").c_str(), (root + "/sys").c_str(),
                    kAttributes)) {
    return os::Fd();
  }
  // JVMs ask the list of mounts and statfs whether and where the groups are, so
  // the kernel's own are there: the jail's group, whose limits are real, and in
  // place of the program's, below it, our files. Without this mount they go by
  // the host, which is no danger to anybody. The list of controllers is ours,
  // because in version 2 a host may have none, and JVMs then look no further.
  const std::string groups = root + "/sys/fs/cgroup";
  const std::string own = top + "/group", list = "/cgroup.controllers";
  os::Fd directory(::open(kYardScratch, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (os::MountCgroups(groups.c_str(), kAttributes) &&
      !(WriteAt(directory, "group/cgroup.controllers", kControllers) &&
        os::BindWith((own + list).c_str(), (groups + list).c_str(),
                     kAttributes) &&
        os::BindWith(own.c_str(), (groups + "/run").c_str(), kAttributes))) {
    return os::Fd();
  }
  return directory;
}

bool WriteLimitFiles(const os::Fd& directory, const VisibleLimits& before,
                     const VisibleLimits& limits, absl::string_view cpuinfo) {
  const auto write = [&directory](const char* name, absl::string_view text) {
    return WriteAt(directory, name, text);
  };
  if (before.memory_bytes == 0 && !(write("proc/cgroups", kCgroups) &&
                                    write("group/memory.swap.max", "0\n"))) {
    return false;
  }
  if (before.memory_bytes != limits.memory_bytes &&
      !(write("proc/meminfo", MeminfoText(limits.memory_bytes)) &&
        write("group/memory.max", absl::StrCat(limits.memory_bytes, "\n")))) {
    return false;
  }
  if (before.processes != limits.processes &&
      !write("group/pids.max", absl::StrCat(limits.processes, "\n"))) {
    return false;
  }
  if (before.cpu_millis == limits.cpu_millis) return true;
  uint64_t processors = 0;
  const absl::string_view cpus = FirstProcessors(
      cpuinfo, (uint64_t{limits.cpu_millis} + 999) / 1000, processors);
  const std::string range =
      processors == 1 ? "0\n" : absl::StrCat("0-", processors - 1, "\n");
  const uint64_t quota =
      std::max<uint64_t>(limits.cpu_millis * kPeriodMicros / 1000, 1000);
  return write("proc/cpuinfo", cpus) &&
         write("proc/stat", StatText(processors)) &&
         write("sys/devices/system/cpu/online", range) &&
         write("group/cpu.max", absl::StrCat(quota, " ", kPeriodMicros, "\n"));
}

void ShowSubgroup(const os::Fd& directory, const char* name) {
  // Where it can't be made, the group isn't shown.
  if (::symlinkat(".", directory.get(), absl::StrCat("group/", name).c_str()) !=
      0) {
    return;
  }
}

void HideSubgroup(const os::Fd& directory, const char* name) {
  (void)::unlinkat(directory.get(), absl::StrCat("group/", name).c_str(), 0);
}

}  // namespace sandglass::sandbox
