// What the process itself is like: its rights, its processes, and what it was
// given.

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "client/probe/report.h"
#include "client/probe/text.h"

namespace sandglass::probe {
namespace {

// The word after "key:" in /proc/<who>/status; "?" when there is none.
std::string StatusOf(const std::string& who, const std::string& key) {
  for (const std::string& line : Lines(ReadAll("/proc/" + who + "/status"))) {
    if (line.rfind(key + ":", 0) != 0) continue;
    std::string value = line.substr(key.size() + 1);
    while (!value.empty() && (value[0] == '\t' || value[0] == ' ')) {
      value.erase(0, 1);
    }
    return value;
  }
  return "?";
}

void InspectRights() {
  for (const char* key : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
                          "NoNewPrivs", "Seccomp"}) {
    ReportText(key, StatusOf("self", key));
  }
  ReportText("user", getuid() != 0 && geteuid() == getuid() && getgid() != 0 &&
                             getegid() == getgid()
                         ? "ordinary"
                         : "special");
  gid_t groups[64];
  const int count = getgroups(64, groups);
  const bool only_own = count == 0 || (count == 1 && groups[0] == getgid());
  ReportText("groups", only_own ? "none" : std::to_string(count));
  // Only with the value 1 does a crash start no program on the host, and the
  // limit must stay so.
  rlimit core = {};
  setrlimit(RLIMIT_CORE, &core);
  getrlimit(RLIMIT_CORE, &core);
  ReportText("core-limit", std::to_string(core.rlim_max));
}

// A process can be in at most 16 nested Landlock domains: how many more it can
// enter shows whether it is in one already. This is tried in a child, because
// the trial restricts the process.
void CountLandlockLayers() {
  constexpr int kMax = 16;
  constexpr int kAbsent = 100;
  constexpr int kOther = 101;
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    landlock_ruleset_attr attr = {};
    attr.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK;
    const long rules =
        syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
    if (rules < 0) _exit(kAbsent);
    int entered = 0;
    while (entered < kMax &&
           syscall(SYS_landlock_restrict_self, rules, 0) == 0) {
      ++entered;
    }
    _exit(entered == kMax || errno == E2BIG ? entered : kOther);
  }
  int status = 0;
  const char* answer = "?";
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    if (code < kMax) answer = "some";
    if (code == kMax) answer = "none";
    if (code == kAbsent) answer = "absent";
  }
  ReportText("landlock-domains", answer);
}

void InspectOthers() {
  // The pids of this process, its parent, and so on.
  std::vector<std::string> own;
  std::string pid = std::to_string(getpid());
  while (pid != "0" && pid != "?" && own.size() < 16) {
    own.push_back(pid);
    pid = StatusOf(pid, "PPid");
  }
  std::vector<std::string> others;
  for (const std::string& name : Entries("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    bool is_own = false;
    for (const std::string& each : own) is_own = is_own || each == name;
    if (!is_own) others.push_back(name);
  }
  ReportNames("other-processes", others);

  std::vector<std::string> of_init;
  for (const char* name : {"environ", "mem", "maps", "stack", "syscall", "io",
                           "cmdline", "status"}) {
    if (!ReadAll(std::string("/proc/1/") + name).empty()) {
      of_init.emplace_back(name);
    }
  }
  char link[256];
  for (const char* name : {"exe", "root", "cwd", "ns/user"}) {
    if (readlink((std::string("/proc/1/") + name).c_str(), link, sizeof(link)) >
        0) {
      of_init.emplace_back(name);
    }
  }
  if (!Entries("/proc/1/fd").empty()) of_init.emplace_back("fd");
  ReportNames("init-readable", of_init);
}

// Whether the process that starts a program may have left this open: its pipes,
// what its runtime waits with, and files that the program can open anyway.
bool IsHarmless(const std::string& target) {
  for (const char* start :
       {"pipe:", "anon_inode:[eventpoll]", "anon_inode:[eventfd]",
        "anon_inode:[timerfd]", "anon_inode:[io_uring]", "/dev/null",
        "/dev/random", "/dev/urandom", "/usr/", "/workspace/",
        "/var/cache/sandglass/", "/etc/java", "/tmp/"}) {
    if (target.rfind(start, 0) == 0) return true;
  }
  return false;
}

// Whether it is a file of the jail's own /proc, some of which a JVM opens now
// and then: compares it with the file that the path leads to from here, which
// may be read anyway.
bool IsOfOwnProc(const std::string& descriptor, const std::string& target) {
  if (target.rfind("/proc/", 0) != 0) return false;
  struct stat open_file = {};
  struct stat here = {};
  // It may have been closed meanwhile.
  if (stat(descriptor.c_str(), &open_file) != 0) return errno == ENOENT;
  return stat(target.c_str(), &here) == 0 && here.st_dev == open_file.st_dev &&
         here.st_ino == open_file.st_ino && access(target.c_str(), R_OK) == 0;
}

// Whether it stands for a process of this jail, as Go's for a child that it has
// started; -1 and 0 stand for one that has ended, and one of elsewhere.
bool IsOfOwnProcess(const std::string& who, const std::string& fd,
                    const std::string& target) {
  if (target != "anon_inode:[pidfd]" && target.rfind("pidfd:", 0) != 0) {
    return false;
  }
  const std::string info = ReadAll("/proc/" + who + "/fdinfo/" + fd);
  const size_t at = info.find("\nPid:\t");
  return at != std::string::npos &&
         strtol(info.c_str() + at + 6, nullptr, 10) > 0;
}

void InspectDescriptors(const char* name, const std::string& who) {
  std::vector<std::string> found;
  const std::string directory = "/proc/" + who + "/fd";
  const std::string listing = "/proc/" + std::to_string(getpid()) + "/fd";
  const std::vector<std::string> fds = Entries(directory);
  // An empty list would look as if all was well.
  if (fds.empty()) found.emplace_back("can't be listed");
  for (const std::string& fd : fds) {
    const std::string path = Below(directory, fd);
    char link[256];
    const ssize_t size = readlink(path.c_str(), link, sizeof(link));
    if (size <= 0) continue;  // the descriptor that listed them
    const std::string target(link, static_cast<size_t>(size));
    if (target == listing || IsHarmless(target) || IsOfOwnProc(path, target) ||
        IsOfOwnProcess(who, fd, target)) {
      continue;
    }
    found.push_back(fd);
    found.back().append(" ").append(target);
  }
  ReportNames(name, found);
}

// Names that a program may have in its environment: from the daemon
// (server/job/job_builder.cc, jail_network.cc), from the shipped languages
// (policy/data/languages), from shells and the JVM's launcher, and from the
// doctor itself, which uses some to ask for a fresh interpreter
// (client/doctor/starters.cc). Any other name came from outside.
constexpr const char* kGiven =
    " PATH HOME PWD OLDPWD TMPDIR USER LOGNAME LANG LC_CTYPE SHLVL _ "
    "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED OMP_NUM_THREADS "
    "OPENBLAS_NUM_THREADS MKL_NUM_THREADS GOCACHE GOMAXPROCS GOMEMLIMIT "
    "NODE_OPTIONS DOTNET_PROCESSOR_COUNT DOTNET_GCHeapHardLimit "
    "GOPROXY GOTOOLCHAIN NLSPATH PYTHONHASHSEED RUBYSHELL UV_USE_IO_URING "
    "LSAN_OPTIONS PIP_BREAK_SYSTEM_PACKAGES CARGO_NET_RETRY PIP_RETRIES "
    "UV_HTTP_RETRIES npm_config_fetch_retries ";

bool IsGiven(const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('='));
  for (const char* of_root : {"HOME=/root", "USER=root", "LOGNAME=root"}) {
    if (variable.rfind(of_root, 0) == 0) return false;
  }
  return name.find(' ') == std::string::npos &&
         std::string(kGiven).find(" " + name + " ") != std::string::npos;
}

void InspectEnvironment() {
  std::vector<std::string> found;
  for (const std::string& who :
       {std::string("self"), std::to_string(getppid())}) {
    for (const std::string& each :
         Split(ReadAll("/proc/" + who + "/environ"), '\0')) {
      if (!each.empty() && !IsGiven(each)) {
        found.push_back(each.substr(0, each.find('=')));
      }
    }
  }
  ReportNames("host-environment", found);
}

void InspectGroupsAndCounts() {
  std::vector<std::string> below;
  for (const std::string& line : Lines(ReadAll("/proc/self/cgroup"))) {
    // The only visible part of the tree is the program's part of its own jail.
    if (line == "0::/run" || line.substr(line.rfind(':')) == ":/") continue;
    below.push_back(line);
  }
  ReportNames("cgroup-below-root", below);
  const auto number = [](const char* path) {
    const std::vector<std::string> lines = Lines(ReadAll(path));
    return lines.empty() ? std::string("absent") : lines.front();
  };
  ReportText("max-user-namespaces",
             number("/proc/sys/user/max_user_namespaces"));
  ReportText("max-inotify", number("/proc/sys/user/max_inotify_instances"));
}

}  // namespace

void InspectSelf() {
  InspectRights();
  CountLandlockLayers();
  InspectOthers();
  InspectDescriptors("own-descriptors", "self");
  InspectDescriptors("starter-descriptors", std::to_string(getppid()));
  InspectEnvironment();
  InspectGroupsAndCounts();
}

void ShowNamespaces() {
  for (const char* name :
       {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    struct stat info = {};
    const bool there =
        stat((std::string("/proc/self/ns/") + name).c_str(), &info) == 0;
    ReportText(std::string("namespace-") + name,
               there ? std::to_string(info.st_ino) : "?");
  }
}

}  // namespace sandglass::probe
