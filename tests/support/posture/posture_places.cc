#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/os/fd.h"
#include "tests/support/host/process.h"
#include "tests/support/posture/posture_facts.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

struct Mount {
  std::string id, parent, device, root, point, options, type, source, super;
  std::string propagation;  // "private" or the words of mountinfo
};

std::vector<Mount> MountsOf(pid_t pid) {
  std::vector<Mount> mounts;
  for (const std::string& line : Lines(ReadProc(pid, "mountinfo"))) {
    const std::vector<std::string> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> head = Words(halves[0]);
    if (halves.size() != 2 || head.size() < 6) continue;
    const std::vector<std::string> tail = absl::StrSplit(halves[1], ' ');
    if (tail.size() < 3) continue;
    std::vector<std::string> peers;
    for (size_t i = 6; i < head.size(); ++i) {
      peers.push_back(head[i].substr(0, head[i].find(':')));
    }
    mounts.push_back({head[0], head[1], head[2], head[3], head[4], head[5],
                      tail[0], tail[1], tail[2],
                      peers.empty() ? "private" : absl::StrJoin(peers, " ")});
  }
  return mounts;
}

const std::vector<HostMount>& HostMounts() {
  static const std::vector<HostMount>* const kMounts = [] {
    auto* mounts = new std::vector<HostMount>();
    for (const Mount& mount : MountsOf(getpid())) {
      std::string controllers;
      if (mount.type == "cgroup2") controllers = "v2";
      if (mount.type == "cgroup") {
        const std::vector<std::string> options =
            absl::StrSplit(mount.super, ',');
        controllers = absl::StrJoin(options.begin() + 1, options.end(), ",");
      }
      mounts->push_back({mount.root, mount.point, mount.type, controllers});
      mounts->back().type = mount.device;
    }
    return mounts;
  }();
  return *kMounts;
}

std::string Tail(const std::string& path, const std::string& head) {
  return head == "/" ? path : path.substr(head.size());
}

bool IsBelow(const std::string& path, const std::string& head) {
  return head == "/" || path == head || absl::StartsWith(path, head + "/");
}

// What this kernel has in /proc beside processes, and whether it is a
// directory.
std::map<std::string, bool> EntriesOfProc() {
  std::map<std::string, bool> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (absl::ascii_isdigit(static_cast<unsigned char>(name.front()))) continue;
    entries[name] = fs::is_directory(entry.symlink_status(error));
  }
  return entries;
}

constexpr char kEntryOfProc[] = "mount /proc/";

std::string SuperOptions(const Scene& scene, const Member& member,
                         const std::string& text) {
  std::vector<std::string> options;
  const std::vector<std::string> all = absl::StrSplit(text, ',');
  for (const std::string& option : all) {
    uint64_t id = 0;
    if ((absl::StartsWith(option, "uid=") ||
         absl::StartsWith(option, "gid=")) &&
        absl::SimpleAtoi(option.substr(4), &id)) {
      options.push_back(option.substr(0, 4) + scene.IdName(member, id));
    } else if (option != "inode64") {  // how the kernel was built
      options.push_back(option);
    }
  }
  return absl::StrJoin(options, ",");
}

// Runs in a process of its own: writes "name value" lines of what only a member
// of these namespaces sees.
void TellFromInside(
    int user, int uts,
    const std::vector<std::pair<std::string, std::string>>& files, int out) {
  if (setns(user, CLONE_NEWUSER) != 0 || setns(uts, CLONE_NEWUTS) != 0) return;
  const auto tell = [&](const char* name, const char* value) {
    (void)!write(out, name, strlen(name));
    (void)!write(out, " ", 1);
    (void)!write(out, value, strlen(value));
    (void)!write(out, "\n", 1);
  };
  utsname names = {};
  if (uname(&names) == 0) {
    tell("hostname", names.nodename);
    tell("domainname", names.domainname);
  }
  for (const auto& [name, path] : files) {
    char value[64] = {};
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t size = read(fd, value, sizeof(value) - 1);
    close(fd);
    if (size > 0) value[size - 1] = 0;
    tell(name.c_str(), value);
  }
}

std::string FromInside(pid_t pid) {
  const os::Fd user(
      open(absl::StrCat("/proc/", pid, "/ns/user").c_str(), O_CLOEXEC));
  const os::Fd uts(
      open(absl::StrCat("/proc/", pid, "/ns/uts").c_str(), O_CLOEXEC));
  std::vector<std::pair<std::string, std::string>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/sys/user", error)) {
    files.emplace_back("sysctl " + entry.path().filename().string(),
                       entry.path().string());
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const os::Fd read_end(ends[0]);
  os::Fd write_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    TellFromInside(user.get(), uts.get(), files, write_end.get());
    _exit(0);
  }
  write_end.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t size;
       (size = read(read_end.get(), buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(size));
  }
  if (child > 0) waitpid(child, nullptr, 0);
  return text;
}

// Who has a file and what it allows him.
std::string Rights(const Scene& scene, const Member& member,
                   const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return "";
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", facts.st_mode & 07777);
  return absl::StrCat("of ", scene.IdName(member, facts.st_uid), ":",
                      scene.IdName(member, facts.st_gid), " ", mode);
}

// What all yards have of the ids there are, none two the same.
bool IsFairSlice(const Scene& scene, uint64_t count) {
  std::set<uint64_t> firsts;
  for (const Member* spawner : scene.WithRole("spawner", "")) {
    const std::vector<uint64_t> numbers =
        MapNumbers(ReadProc(spawner->pid, "uid_map"));
    if (numbers.empty() || numbers[2] != count) return false;
    for (const uint64_t first : firsts) {
      const uint64_t apart =
          std::max(first, numbers[1]) - std::min(first, numbers[1]);
      if (apart < count) return false;
    }
    firsts.insert(numbers[1]);
  }
  return count > 1;
}

// What limits a group or hands it on. Those that a kernel may lack too.
constexpr const char* kLimitFiles[] = {
    "memory.max", "memory.high", "memory.swap.max", "memory.zswap.max",
    "memory.oom.group", "cpu.max", "cpu.max.burst", "cpu.weight", "pids.max",
    "cgroup.subtree_control", "cgroup.type", "cgroup.max.depth",
    "cgroup.max.descendants", "cgroup.freeze",
    // v1
    "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
    "memory.kmem.tcp.limit_in_bytes", "memory.soft_limit_in_bytes",
    "memory.swappiness", "memory.use_hierarchy", "cpu.cfs_quota_us",
    "cpu.cfs_period_us", "cpu.cfs_burst_us", "cpu.shares", "cpu.rt_runtime_us",
    "notify_on_release", "cgroup.clone_children"};
constexpr const char* kOwnedFiles[] = {"cgroup.procs", "cgroup.threads",
                                       "tasks", "cgroup.kill"};

void AddGroup(const Scene& scene, const Member& member,
              const std::string& controllers, const fs::path& directory,
              Facts& facts) {
  const std::string place = absl::StrCat(
      "group ", controllers, " ", scene.GroupName(member, directory.string()));
  facts[place] = {Rights(scene, member, directory.string())};
  for (const char* file : kOwnedFiles) {
    const std::string rights =
        Rights(scene, member, (directory / file).string());
    if (!rights.empty()) facts[absl::StrCat(place, " ", file)] = {rights};
  }
  // Limits that nobody may change but who made them.
  for (const char* file : kLimitFiles) {
    std::ifstream stream(directory / file);
    std::string value;
    if (!std::getline(stream, value) && !fs::exists(directory / file)) continue;
    facts[absl::StrCat(place, " ", file)] = {absl::StrCat(
        value, ", ", Rights(scene, member, (directory / file).string()))};
  }
}

}  // namespace

std::string DeviceName(uint64_t device) {
  return absl::StrCat(major(device), ":", minor(device));
}

const HostMount* HostMountOf(const std::string& device,
                             const std::string& path) {
  const HostMount* best = nullptr;
  for (const HostMount& mount : HostMounts()) {
    if (mount.type != device) continue;
    if (!path.empty() && !IsBelow(path, mount.root)) continue;
    if (best == nullptr || mount.root.size() > best->root.size()) best = &mount;
  }
  return best;
}

void AddMounts(const Scene& scene, const Member& member, Facts& facts) {
  const auto own = member.namespaces.find("mnt");
  if (own == member.namespaces.end()) return;
  const Member* init = scene.Init(member);
  const bool is_jails = init != nullptr && init->pid != member.pid &&
                        init->namespaces.at("mnt") == own->second;
  const bool is_daemons = &member != &scene.daemon() &&
                          scene.daemon().namespaces.at("mnt") == own->second;
  if (is_jails || is_daemons ||
      scene.NamespaceName(member, "mnt", own->second) == "host") {
    return;
  }
  std::multimap<std::string, std::string> of_host;
  if (&member == &scene.daemon()) {
    for (const Mount& mount : MountsOf(getpid())) {
      of_host.emplace(mount.point, mount.propagation);
    }
  }
  const std::vector<Mount> mounts = MountsOf(member.pid);
  std::map<std::string, std::string> points;
  for (const Mount& mount : mounts) points[mount.id] = mount.point;
  std::map<std::string, int> layers;
  std::map<std::string, bool> shown = EntriesOfProc();
  std::map<std::string, std::set<std::string>> masks;
  for (const Mount& mount : mounts) {
    // The daemon's are the host's, and none passes anything back: it follows
    // those that the host shares (mount_namespaces(7)).
    if (const auto origin = of_host.find(mount.point);
        origin != of_host.end()) {
      const bool follows = absl::StrContains(origin->second, "shared") ||
                           absl::StrContains(origin->second, "master");
      if (mount.propagation != "private" &&
          !(follows && mount.propagation == "master")) {
        facts["mount " + mount.point] = {mount.propagation};
      }
      of_host.erase(origin);
      continue;
    }
    const int layer = ++layers[mount.point];
    std::string key = absl::StrCat("mount ", mount.point);
    if (layer > 1) absl::StrAppend(&key, " layer ", layer);
    const HostMount* host = HostMountOf(mount.device, mount.root);
    std::string what;
    if (mount.type == "cgroup2") {
      what = absl::StrCat("cgroup2 ", scene.GroupName(member, mount.root));
    } else if (host != nullptr) {
      const std::string rest = Tail(mount.root, host->root);
      what = absl::StrCat("the host's ",
                          host->point == "/" ? rest : host->point + rest);
    } else {
      what = absl::StrCat(mount.type, " ", mount.root, " (",
                          SuperOptions(scene, member, mount.super), ")");
    }
    const auto parent = points.find(mount.parent);
    const std::string text = absl::StrCat(
        what, ", ", mount.options, ", ", mount.propagation, ", on ",
        parent == points.end() ? "nothing" : parent->second);
    // The kernel decides what there is to cover, so what isn't is told by name.
    const auto entry = absl::StartsWith(key, kEntryOfProc)
                           ? shown.find(key.substr(strlen(kEntryOfProc)))
                           : shown.end();
    if (entry == shown.end()) {
      facts[key] = {text};
      continue;
    }
    masks[entry->second ? "masks of directories in /proc"
                        : "masks of files in /proc"]
        .insert(text);
    shown.erase(entry);
  }
  if (!layers.contains("/proc")) return;
  if (masks.empty()) {
    facts["masks in /proc"] = {"none"};
    return;
  }
  for (const auto& [key, texts] : masks) {
    facts[key] = {absl::StrJoin(texts, " and ")};
  }
  for (const auto& [name, is_directory] : shown) {
    facts["shown in /proc " + name] = {is_directory ? "directory" : "file"};
  }
}

void AddUserNamespace(const Scene& scene, const Member& member, Facts& facts) {
  const bool is_first = &member == &scene.daemon() ||
                        scene.Spawner(member) == &member ||
                        scene.Init(member) == &member;
  if (!is_first) return;
  if (scene.NamespaceName(member, "user", member.namespaces.at("user")) ==
      "host") {
    return;
  }
  for (const char* file : {"uid_map", "gid_map", "projid_map"}) {
    std::vector<std::string> lines;
    for (const std::string& line : Lines(ReadProc(member.pid, file))) {
      const std::vector<uint64_t> numbers = MapNumbers(line);
      if (numbers.empty()) continue;
      const std::string count = absl::StrCat(numbers[2]);
      lines.push_back(
          absl::StrCat(numbers[0], " is ", scene.IdName(member, numbers[1]),
                       " x", IsFairSlice(scene, numbers[2]) ? "SLICE" : count));
    }
    facts[file] = {lines.empty() ? "empty" : absl::StrJoin(lines, "; ")};
  }
  for (const char* file : {"setgroups", "timens_offsets"}) {
    facts[file] = {absl::StrJoin(Words(ReadProc(member.pid, file)), " ")};
  }
  for (const std::string& line : Lines(FromInside(member.pid))) {
    const size_t last = line.rfind(' ');
    facts[line.substr(0, last)] = {line.substr(last + 1)};
  }
  std::set<std::string> interfaces;
  for (const std::string& line : Lines(ReadProc(member.pid, "net/dev"))) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    interfaces.insert(Words(line.substr(0, colon)).front());
  }
  facts["interfaces"] = {absl::StrJoin(interfaces, " ")};
}

void AddGroups(const Scene& scene, const Member& member, Facts& facts) {
  const std::vector<std::string> host = GroupsOf(getpid());
  const Member* init = scene.Init(member);
  std::vector<std::string> of_init;
  if (init != nullptr && init->pid != member.pid) of_init = GroupsOf(init->pid);
  bool others = false;
  for (const std::string& group : GroupsOf(member.pid)) {
    const auto contains = [&](const std::vector<std::string>& groups) {
      return std::find(groups.begin(), groups.end(), group) != groups.end();
    };
    // The host may have others, which are not ours to use.
    if (contains(host)) continue;
    const size_t colon = group.find(':');
    std::string controllers = group.substr(0, colon);
    if (controllers.empty()) controllers = "v2";
    const std::string name = scene.GroupName(member, group.substr(colon + 1));
    facts["in group " + controllers] = {name};
    others = others || !absl::StartsWith(name, "OURS");
    if (contains(of_init) && init != nullptr) continue;
    const fs::path directory = GroupDirectory(group);
    if (directory.empty()) continue;
    AddGroup(scene, member, controllers, directory, facts);
    if (member.role == "daemon" || member.role == "spawner") {
      AddGroup(scene, member, controllers, directory.parent_path(), facts);
    }
  }
  facts["in other groups"] = {others ? "others than this test"
                                     : "as this test"};
}

}  // namespace sandglass::testing
