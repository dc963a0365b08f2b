#include "tests/support/posture/posture_scene.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/wire/uid_slice.h"
#include "tests/support/host/process.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> ReadKeys(const std::string& text) {
  std::map<std::string, std::string> keys;
  for (const std::string& line : Lines(text)) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    keys[parts.first] = absl::StrJoin(Words(parts.second), " ");
  }
  return keys;
}

std::vector<OpenFile> FilesOf(pid_t pid) {
  std::vector<OpenFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    OpenFile file;
    struct stat facts = {};
    if (!absl::SimpleAtoi(entry.path().filename().string(), &file.number) ||
        stat(entry.path().c_str(), &facts) != 0) {
      continue;
    }
    file.target = fs::read_symlink(entry.path(), error).string();
    file.info = ReadKeys(ReadProc(pid, absl::StrCat("fdinfo/", file.number)));
    file.flags =
        static_cast<int>(std::strtol(file.info["flags"].c_str(), nullptr, 8));
    file.device = facts.st_dev;
    file.inode = facts.st_ino;
    file.mode = facts.st_mode;
    files.push_back(std::move(file));
  }
  return files;
}

Member ReadMember(pid_t pid) {
  Member member;
  member.pid = pid;
  member.status = StatusOf(pid);
  (void)absl::SimpleAtoi(member.status["PPid"], &member.parent);
  member.namespaces = NamespacesOf(pid);
  member.files = FilesOf(pid);
  member.command = CommandOf(pid);
  absl::StripTrailingAsciiWhitespace(&member.command);
  return member;
}

// Of what stands directly below a jail's init: in a session that is more than
// the program.
std::string RoleInSession(const Member& member) {
  if (NameOf(member.pid) == "sandglass-files") return "file-agent";
  for (const std::string& group : GroupsOf(member.pid)) {
    if (absl::StrContains(group, "/run/p-")) return "spawned";
  }
  return "program";
}

bool Sees(const Member& member, const std::string& link) {
  return std::any_of(member.namespaces.begin(), member.namespaces.end(),
                     [&](const auto& each) { return each.second == link; });
}

}  // namespace

std::map<std::string, std::string> NamespacesOf(pid_t pid) {
  std::map<std::string, std::string> namespaces;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(absl::StrCat("/proc/", pid, "/ns"), error)) {
    namespaces[entry.path().filename().string()] =
        fs::read_symlink(entry.path(), error).string();
  }
  return namespaces;
}

std::vector<uint64_t> MapNumbers(const std::string& line) {
  std::vector<uint64_t> numbers;
  for (const std::string& word : Words(line)) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(word, &number)) return {};
    numbers.push_back(number);
  }
  return numbers.size() == 3 ? numbers : std::vector<uint64_t>();
}

Scene::Scene(pid_t top, const std::string& marker, pid_t inside) {
  host_ = ReadMember(getpid());
  for (const Process& process : ProcessTree(top)) {
    members_.push_back(ReadMember(process.pid));
  }
  std::set<std::string> networks;
  for (const Member& member : members_) {
    const auto net = member.namespaces.find("net");
    if (net == member.namespaces.end() ||
        !networks.insert(net->second).second) {
      continue;
    }
    sockets_.merge(UnixSocketsOf(member.pid));
  }
  // Under a supervisor the daemon is its child.
  for (const Member& member : members_) {
    if (!absl::StrContains(member.command, "--listen")) continue;
    if (daemon_ == nullptr || member.parent == daemon_->pid) daemon_ = &member;
  }
  if (daemon_ == nullptr) return;
  for (const std::string& group : GroupsOf(daemon_->pid)) {
    const std::vector<std::string> parts = absl::StrSplit(group, '/');
    if (parts.size() > 2 && parts.back() == "server") {
      instance_ = parts[parts.size() - 2];
    }
  }
  NameRoles(marker, inside);
}

void Scene::NameRoles(const std::string& marker, pid_t inside) {
  std::string jail_in_question;
  for (Member& member : members_) {
    for (const std::string& group : GroupsOf(member.pid)) {
      const std::vector<std::string> parts = absl::StrSplit(group, '/');
      const auto own = std::find(parts.begin(), parts.end(), instance_);
      if (own != parts.end() && own + 1 != parts.end() &&
          *(own + 1) != "server") {
        member.yard = *(own + 1);
      }
    }
    if (&member == daemon_) {
      member.role = "daemon";
    } else if (member.pid == daemon_->parent) {
      member.role = "supervisor";
    } else if (IsSpawner(member)) {
      member.role = "spawner";
    } else if (absl::StartsWith(member.command, "sandglass-policy-reader") &&
               member.parent == daemon_->pid) {
      member.role = "policy-reader";
    } else if (member.command == "sandglass-unpacker" &&
               member.parent == daemon_->pid) {
      member.role = "unpacker";
    } else if (member.command == "sandglass-egress" &&
               member.parent == daemon_->pid) {
      member.role = "egress";
    }
  }
  for (Member& member : members_) {
    if (!member.role.empty() || member.yard.empty()) continue;
    const Member* spawner = Spawner(member);
    if (spawner == nullptr) continue;
    const auto same = [&](const char* type) {
      return member.namespaces[type] == spawner->namespaces.at(type);
    };
    if (same("pid") && same("user")) {
      if (absl::StartsWith(member.command, "sandglass-zygote")) {
        member.role = "zygote";
      }
      continue;
    }
    member.jail = member.namespaces["pid"];
    if (member.pid == inside ||
        (!marker.empty() && absl::StrContains(member.command, marker))) {
      jail_in_question = member.jail;
    }
  }
  std::set<std::string> jails;
  for (const Member& member : members_) {
    if (!member.jail.empty()) jails.insert(member.jail);
  }
  for (const std::string& jail : jails) {
    NameJail(jail, jail == jail_in_question);
  }
}

void Scene::NameJail(const std::string& jail, bool in_question) {
  std::vector<Member*> all;
  Member* init = nullptr;
  for (Member& member : members_) {
    if (member.jail != jail) continue;
    const std::vector<std::string> numbers = Words(member.status["NSpid"]);
    if (!numbers.empty() && numbers.back() == "1") {
      init = &member;
    } else {
      all.push_back(&member);
    }
  }
  if (init == nullptr) return;
  const auto is_below = [](const Member& member,
                           const std::vector<const Member*>& those) {
    return std::any_of(those.begin(), those.end(), [&](const Member* each) {
      return each->pid == member.parent;
    });
  };
  if (in_question) {
    init->role = "init";
    std::vector<const Member*> level;
    for (Member* member : all) {
      const Member* parent = Find(member->parent);
      if (parent != nullptr && parent->jail == jail && parent != init) continue;
      member->role = RoleInSession(*member);
      level.push_back(member);
    }
    for (const char* name : {"child", "grandchild"}) {
      std::vector<const Member*> next;
      for (Member* member : all) {
        if (!is_below(*member, level)) continue;
        member->role = name;
        next.push_back(member);
      }
      level = next;
    }
    return;
  }
  if (all.empty()) {
    // Those that the spawner has keep one right more.
    init->role = absl::EndsWith(init->status["CapEff"], "2000e0")
                     ? "waiting-init"
                     : "pooled-init";
    return;
  }
  const std::string& command = all.front()->command;
  const bool runner = NameOf(all.front()->pid) == "sandglass-idle";
  std::string language = "node";
  if (absl::StartsWith(command, "/usr/bin/java ")) {
    language =
        absl::StrContains(command, "sandglass.Launch") ? "java" : "javac";
  }
  init->role = runner ? "runners-init" : absl::StrCat(language, "s-init");
  for (Member* member : all) {
    member->role = runner ? "runner" : absl::StrCat("waiting-", language);
  }
}

const Member* Scene::Find(pid_t pid) const {
  for (const Member& member : members_) {
    if (member.pid == pid) return &member;
  }
  return nullptr;
}

bool Scene::IsSpawner(const Member& member) const {
  // Inits look the same until they have a name.
  return member.command == "sandglass-spawner" && member.parent == daemon_->pid;
}

std::vector<const Member*> Scene::WithRole(const std::string& role,
                                           const std::string& yard) const {
  std::vector<const Member*> found;
  for (const Member& member : members_) {
    if (member.role == role && (yard.empty() || member.yard == yard)) {
      found.push_back(&member);
    }
  }
  return found;
}

const Member* Scene::Spawner(const Member& viewer) const {
  for (const Member& member : members_) {
    if (IsSpawner(member) && member.yard == viewer.yard) return &member;
  }
  return nullptr;
}

const Member* Scene::Init(const Member& viewer) const {
  if (viewer.jail.empty()) return nullptr;
  for (const Member& member : members_) {
    if (member.jail != viewer.jail) continue;
    const auto numbers = member.status.find("NSpid");
    if (numbers == member.status.end()) continue;
    if (absl::EndsWith(numbers->second, "\t1")) return &member;
  }
  return nullptr;
}

std::string Scene::Relation(const Member& viewer, pid_t other) const {
  if (other == getpid()) return "test";
  const Member* found = Find(other);
  if (found == nullptr) return "host";
  std::string role = found->role.empty() ? "unknown" : found->role;
  if (found->yard.empty() ||
      (found->jail.empty() && found->yard == viewer.yard)) {
    return role;
  }
  if (!found->jail.empty()) {
    if (found->jail == viewer.jail) return role;
    return viewer.jail.empty() ? "jail" : "another jail";
  }
  return viewer.yard.empty() ? role : absl::StrCat("another yard's ", role);
}

std::string Scene::IdName(const Member& viewer, uint64_t id) const {
  if (id == 0) return "host-root";
  for (const Member& spawner : members_) {
    if (!IsSpawner(spawner)) continue;
    for (const std::string& line : Lines(ReadProc(spawner.pid, "uid_map"))) {
      const std::vector<uint64_t> numbers = MapNumbers(line);
      if (numbers.empty() || id < numbers[1] || id >= numbers[1] + numbers[2]) {
        continue;
      }
      const uint64_t offset = id - numbers[1];
      if (spawner.yard != viewer.yard) return "another-yard";
      if (offset == 0) return "yard-root";
      if (offset < sandbox::kFirstJailUid) return absl::StrCat("yard+", offset);
      const uint64_t slot = (offset - sandbox::kFirstJailUid) / 2;
      const bool is_init = (offset - sandbox::kFirstJailUid) % 2 == 0;
      std::string name = is_init ? "init" : "code";
      const Member* init = Init(viewer);
      if (init == nullptr) return "a-jails-" + name;
      const std::vector<std::string> map =
          Lines(ReadProc(init->pid, "uid_map"));
      const std::vector<uint64_t> own =
          map.empty() ? std::vector<uint64_t>() : MapNumbers(map.front());
      if (own.empty() || own[1] < numbers[1] ||
          (own[1] - numbers[1] - sandbox::kFirstJailUid) / 2 != slot) {
        return "another-jails-" + name;
      }
      return name;
    }
  }
  for (const char* role : {"policy-reader", "egress"}) {
    for (const Member* member : WithRole(role, "")) {
      const std::vector<std::string> own = Words(member->status.at("Uid"));
      if (!own.empty() && own.front() == absl::StrCat(id)) return role;
    }
  }
  const auto uids = daemon_->status.find("Uid");
  if (uids != daemon_->status.end() &&
      Words(uids->second).front() == absl::StrCat(id)) {
    return "daemon";
  }
  if (rootless()) {
    for (const std::string& line : Lines(ReadProc(daemon_->pid, "uid_map"))) {
      const std::vector<uint64_t> map = MapNumbers(line);
      if (map.empty() || id < map[1] || id >= map[1] + map[2]) continue;
      const uint64_t inside = map[0] + id - map[1];
      return inside == 0 ? "user" : absl::StrCat("user+", inside);
    }
  }
  return absl::StrCat(id);
}

std::string Scene::NamespaceName(const Member& viewer, const std::string& type,
                                 const std::string& link) const {
  const auto is = [&](const Member* member) {
    if (member == nullptr) return false;
    const auto found = member->namespaces.find(type);
    return found != member->namespaces.end() && found->second == link;
  };
  if (is(&host_)) return "host";
  // Whoever has it besides those whose it may be.
  const auto shared = [&](const auto& may) {
    for (const Member& member : members_) {
      if (Sees(member, link) && !may(member)) {
        return absl::StrCat(", shared with ", Relation(viewer, member.pid));
      }
    }
    return std::string();
  };
  if (is(daemon_)) {
    return "daemon";
  }
  if (is(Spawner(viewer))) {
    return "yard" + shared([&](const Member& member) {
             return member.jail.empty() && member.yard == viewer.yard;
           });
  }
  if (is(Init(viewer))) {
    return "jail" + shared([&](const Member& member) {
             return member.jail == viewer.jail || member.role == "zygote";
           });
  }
  return "own" + shared([&](const Member& member) {
           return member.pid == viewer.pid ||
                  (viewer.jail.empty() && !member.jail.empty());
         });
}

std::string Scene::OtherEnd(const Member& viewer, const OpenFile& file) const {
  const bool is_pipe = absl::StartsWith(file.target, "pipe:");
  std::string wanted = file.target;
  if (!is_pipe) {
    const auto socket = sockets_.find(file.inode);
    if (socket == sockets_.end()) return "unknown";
    wanted = absl::StrCat("socket:[", socket->second.peer, "]");
  }
  std::set<std::string> holders;
  for (const Member& member : members_) {
    for (const OpenFile& each : member.files) {
      if (each.target != wanted) continue;
      if (is_pipe && (each.flags & O_ACCMODE) == (file.flags & O_ACCMODE)) {
        continue;
      }
      holders.insert(member.pid == viewer.pid ? "itself"
                                              : Relation(viewer, member.pid));
    }
  }
  for (const OpenFile& each : host_.files) {
    if (each.target == wanted && !is_pipe) holders.insert("test");
  }
  return holders.empty() ? "nobody" : absl::StrJoin(holders, " and ");
}

bool Scene::IsOfTest(const OpenFile& file) const {
  return std::any_of(
      host_.files.begin(), host_.files.end(), [&](const OpenFile& each) {
        return each.number == file.number && each.target == file.target &&
               (each.flags & O_CLOEXEC) == 0;
      });
}

std::string Scene::SharedWith(const Member& viewer,
                              const OpenFile& file) const {
  const auto id = file.info.find("eventfd-id");
  if (id == file.info.end()) return "";
  std::set<std::string> holders;
  for (const Member& member : members_) {
    if (member.pid == viewer.pid) continue;
    for (const OpenFile& each : member.files) {
      const auto other = each.info.find("eventfd-id");
      if (other != each.info.end() && other->second == id->second) {
        holders.insert(Relation(viewer, member.pid));
      }
    }
  }
  return holders.empty() ? ""
                         : ", shared with " + absl::StrJoin(holders, " and ");
}

std::string Scene::GroupName(const Member& viewer,
                             const std::string& path) const {
  std::vector<std::string> parts = absl::StrSplit(path, '/');
  const auto own = std::find(parts.begin(), parts.end(), instance_);
  if (own == parts.end()) return path;
  std::string name = "OURS";
  for (auto part = own + 1; part != parts.end(); ++part) {
    if (part == own + 1 && *part == viewer.yard) *part = "yard";
    // To the daemon all yards are alike.
    if (part == own + 1 && &viewer == daemon_ && *part != "server") {
      *part = "yards";
    }
    absl::StrAppend(&name, "/",
                    absl::StartsWith(*part, "jail-") ? "jail" : *part);
  }
  return name;
}

bool Scene::rootless() const {
  return daemon_->namespaces.at("user") != host_.namespaces.at("user");
}

}  // namespace sandglass::testing
