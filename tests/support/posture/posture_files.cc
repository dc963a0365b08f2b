#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/support/host/process.h"
#include "tests/support/posture/posture_facts.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

std::string AccessOf(const OpenFile& file) {
  std::string access;
  if ((file.flags & O_PATH) != 0) {
    access = "path";
  } else if ((file.flags & O_ACCMODE) == O_RDONLY) {
    access = "r";
  } else {
    access = (file.flags & O_ACCMODE) == O_WRONLY ? "w" : "rw";
  }
  if ((file.flags & O_APPEND) != 0) absl::StrAppend(&access, " append");
  if ((file.flags & O_CLOEXEC) != 0) absl::StrAppend(&access, " cloexec");
  return access;
}

std::string SocketOf(const Scene& scene, const Member& member,
                     const OpenFile& file) {
  const auto found = scene.sockets().find(file.inode);
  if (found == scene.sockets().end()) return "socket that isn't unix";
  std::string text = absl::StrCat("unix ", found->second.type);
  if (!absl::EndsWith(text, "listening")) {
    absl::StrAppend(&text, " to ", scene.OtherEnd(member, file));
  }
  return text;
}

std::string PidfdOf(const Scene& scene, const Member& member,
                    const OpenFile& file) {
  const auto pid = file.info.find("Pid");
  pid_t number = -1;
  if (pid == file.info.end() || !absl::SimpleAtoi(pid->second, &number)) {
    return "pidfd";
  }
  if (number <= 0) return "pidfd of nobody";
  return absl::StrCat("pidfd of ", number == member.pid
                                       ? "itself"
                                       : scene.Relation(member, number));
}

std::string TargetOf(const Scene& scene, const Member& member,
                     const OpenFile& file) {
  const std::string& target = file.target;
  if (absl::StartsWith(target, "pipe:")) {
    return absl::StrCat("pipe to ", scene.OtherEnd(member, file));
  }
  if (absl::StartsWith(target, "socket:")) {
    return SocketOf(scene, member, file);
  }
  // A kind of anonymous inode until Linux 6.9, then a file system.
  if (absl::StartsWith(target, "pidfd:") || target == "anon_inode:[pidfd]") {
    return PidfdOf(scene, member, file);
  }
  if (absl::StartsWith(target, "anon_inode:")) {
    const std::vector<std::string> parts = absl::StrSplit(target, ':');
    std::string name{absl::StripSuffix(absl::StripPrefix(parts[1], "["), "]")};
    return name + scene.SharedWith(member, file);
  }
  static const std::regex kNamespace(
      "(user|pid|mnt|net|ipc|uts|cgroup|time):"
      "\\[[0-9]+\\]");
  if (std::regex_match(target, kNamespace)) {
    const std::string type = target.substr(0, target.find(':'));
    return absl::StrCat("namespace ", type, " ",
                        scene.NamespaceName(member, type, target));
  }
  if (absl::StartsWith(target, "/memfd:")) {
    return std::string(absl::StripSuffix(target.substr(1), " (deleted)"));
  }
  if (const HostMount* mount = HostMountOf(DeviceName(file.device), "");
      mount != nullptr && !mount->controllers.empty()) {
    return absl::StrCat("group ", mount->controllers, " ",
                        scene.GroupName(member, target));
  }
  if (S_ISDIR(file.mode)) return "directory " + target;
  if (S_ISCHR(file.mode)) return "device " + target;
  // Of /proc the kernel forgets a name that nobody looks up.
  if (absl::StartsWith(target, "/proc/")) {
    return absl::StrCat("file ", absl::StripSuffix(target, " (deleted)"));
  }
  return (S_ISREG(file.mode) ? "file " : "special file ") + target;
}

}  // namespace

void AddFiles(const Scene& scene, const Member& member, Facts& facts) {
  std::map<std::string, int> counts;
  for (const OpenFile& file : member.files) {
    if (file.number > 2 && scene.IsOfTest(file)) continue;
    const std::string text =
        absl::StrCat(TargetOf(scene, member, file), ", ", AccessOf(file));
    if (file.number <= 2) {
      facts[absl::StrCat("fd ", file.number)] = {text};
    } else {
      ++counts[text];
    }
  }
  // Those who serve many jails have as many as there are just now.
  const bool serves = member.role == "daemon" || member.role == "spawner";
  for (const auto& [text, count] : counts) {
    Fact& fact = facts["fds " + text];
    fact = {absl::StrCat(count)};
    if (serves) fact.insert(count > 1 ? fact.begin() : fact.end(), "some");
  }
}

}  // namespace sandglass::testing
