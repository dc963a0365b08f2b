// What can be read, written and watched in the file system.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "client/probe/report.h"
#include "client/probe/text.h"

namespace sandglass::probe {
namespace {

void TryCreate(const char* name, const std::string& directory) {
  const std::string path = directory + "/sandglass-probe-file";
  errno = 0;
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  Report(name, fd, errno);
  if (fd < 0) return;
  close(fd);
  unlink(path.c_str());
}

// Whether the first bytes can be read and there are any.
bool HasContent(const char* path) {
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  char byte = 0;
  const bool some = read(fd, &byte, 1) == 1;
  close(fd);
  return some;
}

bool OpensForWriting(const char* path) {
  const int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

template <size_t N>
void ReportThose(const char* name, const std::array<const char*, N>& paths,
                 bool (*applies)(const char*)) {
  std::vector<std::string> found;
  for (const char* path : paths) {
    if (applies(path)) found.emplace_back(path);
  }
  ReportNames(name, found);
}

void TryWriting() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  const char* home = getenv("HOME");
  TryCreate("write-workspace", "/workspace");
  TryCreate("write-tmp", "/tmp");
  TryCreate("write-shm", "/dev/shm");
  TryCreate("write-home", home != nullptr ? home : "/home/sandbox");
  std::vector<std::string> found;
  for (const char* place :
       {"/", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/etc", "/dev",
        "/proc", "/sys", "/var", "/var/cache/sandglass", "/bin", "/opt",
        "/home", "/root", "/run", "/mnt", "/srv", "/boot"}) {
    const std::string path = std::string(place) + "/sandglass-probe-file";
    const int fd =
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    close(fd);
    unlink(path.c_str());
    found.emplace_back(place);
  }
  ReportNames("writable-places", found);
}

// In /proc/self/mountinfo, the fifth word is the mount point and the sixth its
// options.
void InspectMounts() {
  std::vector<std::string> writable;
  std::vector<std::string> with_setuid;
  for (const std::string& line : Lines(ReadAll("/proc/self/mountinfo"))) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() < 6) continue;
    const std::vector<std::string> options = Split(words[5], ',');
    const auto has = [&](const char* option) {
      return std::find(options.begin(), options.end(), option) != options.end();
    };
    if (has("rw")) writable.push_back(words[4]);
    if (!has("nosuid")) with_setuid.push_back(words[4]);
  }
  std::sort(writable.begin(), writable.end());
  ReportNames("writable-mounts", writable);
  ReportNames("setuid-mounts", with_setuid);
}

void InspectDevices(const std::string& directory,
                    std::vector<std::string>& found) {
  DIR* open_directory = opendir(directory.c_str());
  if (open_directory == nullptr) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  while (const dirent* entry = readdir(open_directory)) {
    const std::string name = entry->d_name;
    const std::string path = Below(directory, name);
    struct stat info = {};
    if (name == "." || name == ".." || lstat(path.c_str(), &info) != 0) {
      continue;
    }
    if (S_ISCHR(info.st_mode)) found.push_back(name);
    if (S_ISBLK(info.st_mode)) found.push_back("block " + name);
    if (S_ISDIR(info.st_mode)) InspectDevices(path, found);
  }
  closedir(open_directory);
}

bool HasEntries(const char* path) { return !Entries(path).empty(); }

void InspectProc() {
  ReportThose(
      "proc-readable",
      std::array{"/proc/kcore", "/proc/keys", "/proc/key-users",
                 "/proc/timer_list", "/proc/sched_debug", "/proc/kmsg",
                 "/proc/latency_stats", "/proc/cmdline", "/proc/partitions",
                 "/proc/diskstats", "/proc/sysrq-trigger", "/proc/kallsyms",
                 "/proc/kpagecount", "/proc/vmallocinfo", "/proc/slabinfo",
                 "/proc/config.gz"},
      &HasContent);
  ReportThose("proc-listed",
              std::array{"/proc/acpi", "/proc/scsi", "/proc/bus", "/proc/fs",
                         "/proc/irq"},
              &HasEntries);
  ReportThose(
      "proc-writable",
      std::array{"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
                 "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
                 "/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward",
                 "/proc/self/uid_map", "/proc/self/mem",
                 "/proc/self/oom_score_adj", "/proc/irq/default_smp_affinity"},
      &OpensForWriting);
  // What the run was given is one file that a broken jail would show.
  ReportThose("host-secrets",
              std::array{"/etc/shadow", "/etc/gshadow", "/etc/sudoers",
                         "/etc/machine-id", "/.dockerenv"},
              &HasContent);
  ReportThose("host-places",
              std::array{"/root", "/boot", "/run", "/mnt", "/srv", "/media",
                         "/var/lib", "/var/log", "/sys/class", "/sys/kernel",
                         "/sys/fs/cgroup/system.slice"},
              &HasEntries);
}

// All jails and the host share the files of the image.
void TryWatching() {
  errno = 0;
  const int fd = inotify_init1(IN_CLOEXEC);
  Report("inotify", fd, errno);
  if (fd >= 0) close(fd);
  const int directory = open("/usr/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  errno = 0;
  const int watched = fcntl(directory, F_NOTIFY, DN_ACCESS);
  Report("dnotify", watched, errno);
  if (directory >= 0) close(directory);
}

}  // namespace

void TryFiles() {
  TryWriting();
  InspectMounts();
  std::vector<std::string> devices;
  InspectDevices("/dev", devices);
  std::sort(devices.begin(), devices.end());
  ReportNames("device-nodes", devices);
  InspectProc();
  TryWatching();
}

}  // namespace sandglass::probe
