#include "sandbox/host/cgroup_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/files.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

// The supervisor's group is beside our subtree, not in it: a sweep must not
// find it.
constexpr absl::string_view kSupervisorSuffix = ".sandglass-supervisor";
// What every instance's name begins with.
constexpr absl::string_view kOurs = "sandglass-";
constexpr absl::Duration kSweepPatience = absl::Seconds(2);
// How many things a message names at most.
constexpr size_t kMaxNamed = 3;

struct Mount {
  std::string root;   // path of the hierarchy that is mounted
  std::string point;  // where it is mounted
};

// The mounted hierarchies, by controller name; "" is v2.
std::map<std::string, Mount> CgroupMounts() {
  std::map<std::string, Mount> mounts;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // "36 35 98:0 /root /point options optional… - type source super-options"
    const std::pair<std::string, std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> head = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> tail = absl::StrSplit(halves.second, ' ');
    if (head.size() < 5 || tail.size() < 3) continue;
    if (tail[0] == "cgroup2") mounts.emplace("", Mount{head[3], head[4]});
    if (tail[0] != "cgroup") continue;
    for (absl::string_view option : absl::StrSplit(tail[2], ',')) {
      mounts.emplace(std::string(option), Mount{head[3], head[4]});
    }
  }
  return mounts;
}

// The groups of this process, by controller name; "" is v2.
std::map<std::string, std::string> OwnGroups() {
  std::map<std::string, std::string> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    for (absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      groups.emplace(std::string(controller), parts[2]);
    }
  }
  return groups;
}

std::string Below(const Mount& mount, absl::string_view group) {
  // Inside a container the mount may show only a part of the hierarchy.
  if (mount.root != "/" && absl::StartsWith(group, mount.root)) {
    group.remove_prefix(mount.root.size());
  }
  std::string path = absl::StrCat(mount.point, group);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// True when no process except this one and its parent (a supervisor) is in the
// v2 group, which means that it was delegated to us. A process outside our pid
// namespace is listed there as 0, and getppid(2) returns 0 for a parent
// outside.
bool IsOurs(const std::string& group) {
  const absl::StatusOr<std::string> procs =
      os::ReadSmallFile(AT_FDCWD, (group + "/cgroup.procs").c_str());
  if (!procs.ok()) return false;
  for (absl::string_view line :
       absl::StrSplit(*procs, '\n', absl::SkipEmpty())) {
    int pid = 0;
    if (!absl::SimpleAtoi(line, &pid)) return false;
    if (pid != ::getpid() && (pid == 0 || pid != ::getppid())) return false;
  }
  return true;
}

// True for the hierarchy's real root. It has no cgroup.events, and may contain
// processes besides groups with controllers.
bool IsRealRoot(const std::string& group) {
  return ::access((group + "/cgroup.events").c_str(), F_OK) != 0;
}

bool Offers(const std::string& group, absl::string_view controller) {
  const absl::StatusOr<std::string> text =
      os::ReadSmallFile(AT_FDCWD, (group + "/cgroup.controllers").c_str());
  if (!text.ok()) return false;
  const std::vector<absl::string_view> names =
      absl::StrSplit(*text, absl::ByAnyChar(" \n"));
  return std::find(names.begin(), names.end(), controller) != names.end();
}

bool MakeDir(const std::string& path) {
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

bool MoveSelf(const std::string& group) {
  return os::WriteControlFile(AT_FDCWD, (group + "/cgroup.procs").c_str(), "0");
}

absl::Status Chown(const std::string& group, uid_t owner) {
  // Gives away only what the yard needs to make groups and to move its
  // children; the limits of the yard itself remain root's.
  if (::chown(group.c_str(), owner, -1) != 0) {
    return os::ErrnoStatus("chown ", group);
  }
  for (const char* name : {"cgroup.procs", "tasks", "cgroup.threads"}) {
    const std::string path = absl::StrCat(group, "/", name);
    if (::chown(path.c_str(), owner, -1) != 0 && errno != ENOENT) {
      return os::ErrnoStatus("chown ", path);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<os::Fd> OpenDir(const std::string& path) {
  os::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return os::ErrnoStatus("open ", path);
  return fd;
}

// Makes the daemon's own part of one hierarchy and moves into it.
absl::Status MakeServerLeaf(const std::string& root) {
  for (const std::string& path : {root, root + "/server"}) {
    if (!MakeDir(path)) return os::ErrnoStatus("mkdir ", path);
  }
  if (!MoveSelf(root + "/server")) {
    return os::ErrnoStatus("move into ", root, "/server");
  }
  return absl::OkStatus();
}

absl::Status MakeSpawnerLeaf(const std::string& yard, YardCgroups& groups) {
  const std::string path = yard + "/spawner";
  if (!MakeDir(path)) return os::ErrnoStatus("mkdir ", path);
  absl::StatusOr<os::Fd> leaf = OpenDir(path);
  if (!leaf.ok()) return leaf.status();
  groups.spawner_leaves.push_back(*std::move(leaf));
  return absl::OkStatus();
}

absl::Status EnableControllers(const CgroupHost& host,
                               const std::string& group) {
  std::vector<std::string> wanted;
  if (host.memory_v1_parent.empty() && host.v2_has_memory) {
    wanted.push_back("+memory");
  }
  if (host.pids_v1_parent.empty() && host.v2_has_pids) {
    wanted.push_back("+pids");
  }
  if (host.cpu_v1_parent.empty() && host.v2_has_cpu) wanted.push_back("+cpu");
  if (host.io_v1_parent.empty() && host.v2_has_io) wanted.push_back("+io");
  if (wanted.empty()) return absl::OkStatus();
  const std::string path = group + "/cgroup.subtree_control";
  if (!os::WriteControlFile(AT_FDCWD, path.c_str(),
                            absl::StrJoin(wanted, " "))) {
    return os::ErrnoStatus("write ", absl::StrJoin(wanted, " "), " to ", path);
  }
  return absl::OkStatus();
}

void KillAll(const std::string& group) {
  // v2: kills everything below at once, except that Linux 6.18 skips a process
  // whose main thread has ended while others go on. Those, and everything on
  // v1, are killed one by one.
  (void)os::WriteControlFile(AT_FDCWD, (group + "/cgroup.kill").c_str(), "1");
  const absl::StatusOr<std::string> procs =
      os::ReadSmallFile(AT_FDCWD, (group + "/cgroup.procs").c_str());
  if (!procs.ok()) return;
  for (absl::string_view line :
       absl::StrSplit(*procs, '\n', absl::SkipEmpty())) {
    int pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 1 && pid != ::getpid()) {
      ::kill(pid, SIGKILL);
    }
  }
}

// The name of a process. One outside our pid namespace has no number here.
std::string ProcessName(int pid) {
  if (pid == 0) return "a process that this pid namespace doesn't show";
  const std::string path = absl::StrCat("/proc/", pid, "/comm");
  const absl::StatusOr<std::string> name =
      os::ReadSmallFile(AT_FDCWD, path.c_str());
  return absl::StrCat("pid ", pid, " (",
                      absl::StripSuffix(name.value_or("gone\n"), "\n"), ")");
}

// Names for people the processes, except this one, that are in the leaves of
// daemons themselves. Empty: no daemon lives there.
std::string WhoLivesIn(const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    const absl::StatusOr<std::string> procs =
        os::ReadSmallFile(AT_FDCWD, (root + "/server/cgroup.procs").c_str());
    if (!procs.ok()) continue;
    std::vector<std::string> names;
    for (absl::string_view line :
         absl::StrSplit(*procs, '\n', absl::SkipEmpty())) {
      int pid = 0;
      if (!absl::SimpleAtoi(line, &pid) || pid == ::getpid()) continue;
      if (names.size() < kMaxNamed) names.push_back(ProcessName(pid));
    }
    if (!names.empty()) {
      return absl::StrCat(root, " has ", absl::StrJoin(names, ", "));
    }
  }
  return "";
}

// Removes the group and those below it, deepest first. True when it is gone.
bool RemoveTree(const std::string& group) {
  std::error_code error;
  std::filesystem::directory_iterator entries(group, error);
  if (error) return error.value() == ENOENT;
  for (const std::filesystem::directory_entry& entry : entries) {
    if (entry.is_directory(error) && !error) {
      RemoveTree(entry.path().string());
    }
  }
  KillAll(group);
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

absl::StatusOr<CgroupHost> FindCgroups(const std::string& parent) {
  const std::map<std::string, Mount> mounts = CgroupMounts();
  const std::map<std::string, std::string> own = OwnGroups();
  CgroupHost host;
  const auto place = [&](const std::string& controller) -> std::string {
    const auto mount = mounts.find(controller);
    const auto group = own.find(controller);
    if (mount == mounts.end() || group == own.end()) return "";
    return Below(mount->second, parent.empty() ? group->second : parent);
  };
  // Where no group can be made (read-only in a container, or owned by another
  // user), the controller counts as absent.
  const auto place_v1 = [&](const std::string& controller) -> std::string {
    std::string directory = place(controller);
    if (::access(directory.c_str(), W_OK) != 0 && errno != ENOENT) return "";
    return directory;
  };
  host.memory_v1_parent = place_v1("memory");
  host.pids_v1_parent = place_v1("pids");
  host.cpu_v1_parent = place_v1("cpu");
  host.io_v1_parent = place_v1("blkio");
  // blkio isn't required: if the parent was only made for the other
  // controllers, that is good enough.
  std::error_code absent;
  if (!parent.empty() &&
      !std::filesystem::is_directory(host.io_v1_parent, absent)) {
    host.io_v1_parent.clear();
  }
  host.v2_parent = place("");
  // The daemon was started again under a supervisor that an earlier start had
  // moved aside.
  if (absl::EndsWith(host.v2_parent, kSupervisorSuffix)) {
    host.v2_parent.resize(host.v2_parent.rfind('/'));
  }
  if (host.v2_parent.empty()) {
    return absl::FailedPreconditionError(
        "no cgroup2 file system is mounted; mount it, for example: mount -t "
        "cgroup2 none /sys/fs/cgroup/unified");
  }
  if (!parent.empty()) {
    for (const std::string& directory :
         {host.v2_parent, host.memory_v1_parent, host.pids_v1_parent,
          host.cpu_v1_parent}) {
      std::error_code error;
      if (directory.empty() ||
          std::filesystem::is_directory(directory, error)) {
        continue;
      }
      return absl::FailedPreconditionError(
          absl::StrCat("cgroup_parent \"", parent, "\": no such directory as ",
                       directory, "; make it or leave it \"\""));
    }
  }
  // A v2 group that contains processes of others can't delegate controllers,
  // but the hierarchy's root can. It doesn't matter where v1 has all three
  // controllers.
  const bool needs_v2 = host.memory_v1_parent.empty() ||
                        host.pids_v1_parent.empty() ||
                        host.cpu_v1_parent.empty();
  if (parent.empty() && needs_v2 && !IsRealRoot(host.v2_parent) &&
      !IsOurs(host.v2_parent)) {
    host.v2_parent = mounts.at("").point;
  }
  host.v2_has_memory = Offers(host.v2_parent, "memory");
  host.v2_has_pids = Offers(host.v2_parent, "pids");
  host.v2_has_cpu = Offers(host.v2_parent, "cpu");
  // The io controller is optional, so for its sake nobody shall lose the other
  // ones.
  host.v2_has_io = Offers(host.v2_parent, "io") &&
                   (IsRealRoot(host.v2_parent) || IsOurs(host.v2_parent));
  return host;
}

absl::Status MakeCgroupTree(const CgroupHost& host, const std::string& instance,
                            const std::string& roots_file) {
  std::set<std::string> roots;
  for (const std::string& parent : {host.v2_parent, host.memory_v1_parent,
                                    host.pids_v1_parent, host.cpu_v1_parent}) {
    if (!parent.empty()) roots.insert(absl::StrCat(parent, "/", instance));
  }
  const std::string living = WhoLivesIn({roots.begin(), roots.end()});
  if (!living.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the control group that the daemon whose list is ", roots_file,
        " would have is another daemon's, which lives: ", living,
        "; stop that one, or give this one another state_dir"));
  }
  std::set<std::string> all = roots;
  if (!host.io_v1_parent.empty()) {
    all.insert(absl::StrCat(host.io_v1_parent, "/", instance));
  }
  {
    std::ofstream file(roots_file, std::ios::trunc);
    file << absl::StrJoin(all, "\n") << "\n";
    if (!file.flush()) return os::ErrnoStatus("write ", roots_file);
  }
  for (const std::string& root : all) {
    if (!MakeDir(root)) return os::ErrnoStatus("mkdir ", root);
  }
  for (const std::string& root : roots) {
    if (absl::Status made = MakeServerLeaf(root); !made.ok()) return made;
  }
  const std::string v2_root = host.v2_parent + "/" + instance;
  // ORDER: after this process (and a supervisor) has left the parent, because
  // only a group without processes can delegate controllers.
  if (!IsRealRoot(host.v2_parent) && IsOurs(host.v2_parent)) {
    const std::string supervisor = absl::StrCat(v2_root, kSupervisorSuffix);
    if (!MakeDir(supervisor)) return os::ErrnoStatus("mkdir ", supervisor);
    const absl::StatusOr<std::string> rest =
        os::ReadSmallFile(AT_FDCWD, (host.v2_parent + "/cgroup.procs").c_str());
    if (rest.ok() && !rest->empty() &&
        !os::WriteControlFile(AT_FDCWD, (supervisor + "/cgroup.procs").c_str(),
                              absl::StrCat(::getppid()))) {
      return os::ErrnoStatus("move the supervisor into ", supervisor);
    }
  }
  for (const std::string& group : {host.v2_parent, v2_root}) {
    if (absl::Status status = EnableControllers(host, group); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<YardCgroups> MakeYardCgroups(const CgroupHost& host,
                                            const std::string& instance,
                                            const std::string& yard,
                                            uid_t yard_uid) {
  YardCgroups groups;
  const std::string below = absl::StrCat("/", instance, "/", yard);
  for (const auto& [parent, directory] :
       {std::pair(&host.v2_parent, &groups.v2),
        std::pair(&host.memory_v1_parent, &groups.memory_v1),
        std::pair(&host.pids_v1_parent, &groups.pids_v1),
        std::pair(&host.cpu_v1_parent, &groups.cpu_v1),
        std::pair(&host.io_v1_parent, &groups.io_v1)}) {
    if (parent->empty()) continue;
    const std::string branch = *parent + below;
    if (!MakeDir(branch)) return os::ErrnoStatus("mkdir ", branch);
    // Moving the spawner there would cost milliseconds, and our own I/O isn't
    // capped.
    if (parent != &host.io_v1_parent) {
      absl::Status leaf = MakeSpawnerLeaf(branch, groups);
      if (!leaf.ok()) return leaf;
    }
    // ORDER: after the leaf: a container's root may not be allowed to make a
    // leaf in a group that it no longer owns.
    if (absl::Status given = Chown(branch, yard_uid); !given.ok()) return given;
    absl::StatusOr<os::Fd> made = OpenDir(branch);
    if (!made.ok()) return made.status();
    *directory = *std::move(made);
  }
  if (const absl::Status status =
          EnableControllers(host, host.v2_parent + below);
      !status.ok()) {
    return status;
  }
  return groups;
}

absl::Status SweepCgroups(const std::string& roots_file,
                          const std::string& instance) {
  std::ifstream file(roots_file);
  if (!file) return absl::OkStatus();
  std::map<std::string, std::vector<std::string>> roots;  // by last part
  for (std::string root; std::getline(file, root);) {
    const std::string name = root.substr(root.rfind('/') + 1);
    // Whatever has been written to the file: a path that looks different is
    // never ours.
    if (!absl::StartsWith(root, "/") || !absl::StartsWith(name, kOurs)) {
      continue;
    }
    roots[name].push_back(root);
  }
  file.close();
  std::vector<std::string> others;
  for (const auto& [name, of_name] : roots) {
    absl::Time deadline = os::SteadyNow() + kSweepPatience;
    if (name != instance) {
      std::string living;
      while (!(living = WhoLivesIn(of_name)).empty() &&
             os::SteadyNow() < deadline) {
        absl::SleepFor(absl::Milliseconds(5));
      }
      if (!living.empty()) {
        others.push_back(living);
        continue;
      }
      deadline = os::SteadyNow() + kSweepPatience;
    }
    for (const std::string& root : of_name) {
      KillAll(root);
      while (!RemoveTree(root)) {
        if (os::SteadyNow() > deadline) {
          return absl::DeadlineExceededError(absl::StrCat(
              "the control group ", root,
              " of an earlier daemon can't be removed; see its cgroup.procs"));
        }
        absl::SleepFor(absl::Milliseconds(5));
      }
    }
  }
  ::unlink(roots_file.c_str());
  if (others.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(roots_file,
                   " names control groups that another daemon lives in, which "
                   "is left alone: ",
                   absl::StrJoin(others, "; ")));
}

}  // namespace sandglass::sandbox
