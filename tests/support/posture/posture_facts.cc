#include "tests/support/posture/posture_facts.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/fd.h"
#include "tests/support/host/process.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCapabilities[] = {"chown",
                                         "dac_override",
                                         "dac_read_search",
                                         "fowner",
                                         "fsetid",
                                         "kill",
                                         "setgid",
                                         "setuid",
                                         "setpcap",
                                         "linux_immutable",
                                         "net_bind_service",
                                         "net_broadcast",
                                         "net_admin",
                                         "net_raw",
                                         "ipc_lock",
                                         "ipc_owner",
                                         "sys_module",
                                         "sys_rawio",
                                         "sys_chroot",
                                         "sys_ptrace",
                                         "sys_pacct",
                                         "sys_admin",
                                         "sys_boot",
                                         "sys_nice",
                                         "sys_resource",
                                         "sys_time",
                                         "sys_tty_config",
                                         "mknod",
                                         "lease",
                                         "audit_write",
                                         "audit_control",
                                         "setfcap",
                                         "mac_override",
                                         "mac_admin",
                                         "syslog",
                                         "wake_alarm",
                                         "block_suspend",
                                         "audit_read",
                                         "perfmon",
                                         "bpf",
                                         "checkpoint_restore"};

// What says how a process fares, or who it is, and not what it may do. Limits,
// parents and namespaces have lines of their own.
const std::set<std::string>& Unsaid() {
  static const std::set<std::string> kUnsaid = {"State",
                                                "Tgid",
                                                "Ngid",
                                                "Pid",
                                                "PPid",
                                                "FDSize",
                                                "NStgid",
                                                "NSpid",
                                                "NSpgid",
                                                "NSsid",
                                                "CoreDumping",
                                                "SigQ",
                                                "Cpus_allowed",
                                                "HugetlbPages",
                                                "voluntary_ctxt_switches",
                                                "nonvoluntary_ctxt_switches"};
  return kUnsaid;
}

std::string CapabilityNames(const std::string& text) {
  const uint64_t mask = std::strtoull(text.c_str(), nullptr, 16);
  int last = 0;
  std::ifstream("/proc/sys/kernel/cap_last_cap") >> last;
  if (mask == 0) return "none";
  if (last > 0 && mask == (uint64_t{2} << last) - 1) return "all";
  std::vector<std::string> names;
  for (size_t i = 0; i < 64; ++i) {
    if ((mask >> i & 1) == 0) continue;
    names.push_back(i < std::size(kCapabilities) ? kCapabilities[i]
                                                 : absl::StrCat("cap", i));
  }
  return absl::StrJoin(names, " ");
}

std::string SignalNames(const std::string& text) {
  const uint64_t mask = std::strtoull(text.c_str(), nullptr, 16);
  if (mask == 0) return "none";
  std::vector<std::string> names;
  std::vector<std::string> missing;
  for (int i = 1; i <= 64; ++i) {
    const char* name = sigabbrev_np(i);
    ((mask >> (i - 1) & 1) != 0 ? names : missing)
        .push_back(name != nullptr ? name : absl::StrCat("RT", i - 32));
  }
  if (missing.size() > 12) return absl::StrJoin(names, " ");
  return missing.empty() ? "all" : "all but " + absl::StrJoin(missing, " ");
}

// 0 for what is no number.
int NumberOf(const std::string& text) {
  int number = 0;
  return absl::SimpleAtoi(text, &number) ? number : 0;
}

std::string Ids(const Scene& scene, const Member& member,
                const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& word : Words(text)) {
    uint64_t id = 0;
    names.push_back(absl::SimpleAtoi(word, &id) ? scene.IdName(member, id)
                                                : word);
  }
  const std::set<std::string> different(names.begin(), names.end());
  return different.size() == 1 && names.size() == 4 ? names.front()
                                                    : absl::StrJoin(names, " ");
}

// As it is, and "host" where this test has the same.
Fact OrHost(const std::string& value, const std::string& own) {
  return value == own ? Fact{"host", value} : Fact{value};
}

std::string OneLine(std::string text, char separator = ' ') {
  while (!text.empty() && (text.back() == 0 || text.back() == '\n')) {
    text.pop_back();
  }
  for (char& c : text) {
    if (c == 0 || c == '\n') c = separator;
  }
  return text;
}

std::string StatField(pid_t pid, const std::string& file, size_t number) {
  const std::string text = ReadProc(pid, file);
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return "";
  const std::vector<std::string> words = Words(text.substr(end + 1));
  return number - 3 < words.size() ? words[number - 3] : "";
}

std::string LinkOf(pid_t pid, const std::string& name) {
  std::error_code error;
  return fs::read_symlink(absl::StrCat("/proc/", pid, "/", name), error)
      .string();
}

std::string OwnerOf(const std::string& link_path) {
  const os::Fd name(open(link_path.c_str(), O_RDONLY | O_CLOEXEC));
  const os::Fd owner(name.valid() ? ioctl(name.get(), NS_GET_USERNS) : -1);
  struct stat facts = {};
  if (!owner.valid() || fstat(owner.get(), &facts) != 0) return "";
  return absl::StrCat("user:[", facts.st_ino, "]");
}

void AddNamespaces(const Scene& scene, const Member& member,
                   const std::string& place, Facts& facts) {
  const std::string directory =
      absl::StrCat("/proc/", member.pid, "/", place, "ns/");
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, error)) {
    const std::string type = entry.path().filename().string();
    const std::string link = fs::read_symlink(entry.path(), error).string();
    std::string kind = type.substr(0, type.find('_'));
    std::string value = scene.NamespaceName(member, kind, link);
    const std::string owner = OwnerOf(entry.path().string());
    if (!owner.empty() && value != "host") {
      absl::StrAppend(&value, ", owned by ",
                      scene.NamespaceName(member, "user", owner));
    }
    facts["ns " + type] = {value};
  }
}

void AddScheduling(pid_t thread, Facts& facts) {
  const auto both = [&](const std::string& key,
                        const std::function<std::string(pid_t)>& get) {
    facts[key] = OrHost(get(thread), get(0));
  };
  both("policy", [](pid_t id) { return absl::StrCat(sched_getscheduler(id)); });
  both("nice", [](pid_t id) {
    return absl::StrCat(getpriority(PRIO_PROCESS, static_cast<id_t>(id)));
  });
  both("io priority", [](pid_t id) {
    constexpr int kOfProcess = 1;
    return absl::StrCat(syscall(SYS_ioprio_get, kOfProcess, id));
  });
}

// Of one that worked before its limits were set, these are what the run may
// have and what it had used by then.
void AddCpuTime(pid_t pid, const std::string& value, Fact& fact) {
  const std::vector<std::string> words = Words(value);
  uint64_t soft = 0;
  uint64_t hard = 0;
  uint64_t ticks = 0;
  if (!absl::SimpleAtoi(words[0], &soft) ||
      !absl::SimpleAtoi(words[1], &hard) || hard != soft + 1) {
    return;
  }
  for (const size_t field : {14, 15}) {
    uint64_t each = 0;
    if (absl::SimpleAtoi(StatField(pid, "stat", field), &each)) ticks += each;
  }
  const uint64_t used = ticks / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)) + 1;
  for (uint64_t before = 0; before <= used && before < soft; ++before) {
    fact.push_back(absl::StrCat(soft - before, " ", hard - before,
                                " and what it had used"));
  }
}

void AddLimits(pid_t pid, Facts& facts) {
  const auto parse = [](const std::string& text) {
    std::map<std::string, std::string> limits;
    for (const std::string& line : Lines(text)) {
      constexpr size_t kNameWidth = 26;
      if (!absl::StartsWith(line, "Max ") || line.size() < kNameWidth) continue;
      const std::vector<std::string> words = Words(line.substr(kNameWidth));
      std::string name = line.substr(4, kNameWidth - 4);
      absl::StripAsciiWhitespace(&name);
      limits[name] = absl::StrCat(words[0], " ", words[1]);
    }
    return limits;
  };
  const std::map<std::string, std::string> host =
      parse(ReadProc(getpid(), "limits"));
  for (const auto& [name, value] : parse(ReadProc(pid, "limits"))) {
    const auto own = host.find(name);
    Fact& fact = facts["limit " + name];
    fact = OrHost(value, own == host.end() ? "" : own->second);
    if (name == "cpu time") AddCpuTime(pid, value, fact);
  }
}

void AddProcess(const Scene& scene, const Member& member, Facts& facts) {
  const pid_t pid = member.pid;
  facts["parent"] = {scene.Relation(member, member.parent)};
  for (const auto& [key, field] :
       {std::pair("session", 6), std::pair("group", 5)}) {
    pid_t leader = -1;
    (void)absl::SimpleAtoi(StatField(pid, "stat", field), &leader);
    facts[key] = {leader == pid ? "own"
                  : leader == 0 ? "none"
                                : scene.Relation(member, leader)};
  }
  facts["terminal"] = {StatField(pid, "stat", 7) == "0" ? "none" : "one"};
  facts["oom_score_adj"] = OrHost(OneLine(ReadProc(pid, "oom_score_adj")),
                                  OneLine(ReadProc(getpid(), "oom_score_adj")));
  facts["coredump_filter"] = {OneLine(ReadProc(pid, "coredump_filter"))};
  facts["personality"] = {OneLine(ReadProc(pid, "personality"))};
  facts["timerslack"] = {OneLine(ReadProc(pid, "timerslack_ns"))};
  facts["loginuid"] = OrHost(OneLine(ReadProc(pid, "loginuid")),
                             OneLine(ReadProc(getpid(), "loginuid")));
  facts["security label"] = OrHost(OneLine(ReadProc(pid, "attr/current")),
                                   OneLine(ReadProc(getpid(), "attr/current")));
  for (const char* link : {"cwd", "root"}) {
    facts[link] = {LinkOf(pid, link)};
  }
  // Each release has another version of Python.
  static const std::regex version("python3\\.[0-9]+$");
  facts["exe"] = {std::regex_replace(LinkOf(pid, "exe"), version, "python3")};
  // Where it was started.
  if (facts["cwd"] == Fact{LinkOf(getpid(), "cwd")} &&
      facts["cwd"] != Fact{"/"}) {
    facts["cwd"] = {"host"};
  }
  facts["command"] = {member.command};
  // Files of a process that isn't dumpable belong to a root.
  struct stat info = {};
  if (stat(absl::StrCat("/proc/", pid, "/environ").c_str(), &info) == 0) {
    facts["files in /proc"] = {"of " + scene.IdName(member, info.st_uid)};
  }
  const std::vector<std::string> environment =
      absl::StrSplit(ReadProc(pid, "environ"), '\0', absl::SkipEmpty());
  for (const std::string& each : environment) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(each, absl::MaxSplits('=', 1));
    facts["env " + parts.first] = {OneLine(parts.second)};
  }
}

}  // namespace

void AddStatus(const Scene& scene, const Member& member,
               const std::map<std::string, std::string>& status, Facts& facts) {
  const std::map<std::string, std::string> host = StatusOf(getpid());
  for (const auto& [key, value] : status) {
    if (Unsaid().contains(key) || absl::StartsWith(key, "Vm") ||
        absl::StartsWith(key, "Rss")) {
      continue;
    }
    const auto own = host.find(key);
    const std::string same = own == host.end() ? "" : own->second;
    if (absl::StartsWith(key, "Cap")) {
      facts[key] = {CapabilityNames(value)};
      if (value == same) facts[key].push_back("host");
      // A list is long, and the host's may be any.
      if (value == same && facts[key].front().size() > 80) {
        facts[key] = {"host"};
      }
    } else if (absl::StartsWith(key, "Sig") || key == "ShdPnd") {
      facts[key] = {SignalNames(value)};
    } else if (key == "Uid" || key == "Gid" || key == "Groups") {
      facts[key] = {Ids(scene, member, value)};
    } else if (key == "Threads") {
      // Of runtimes that have what they need.
      constexpr int kMany = 8;
      const bool many = NumberOf(value) > kMany;
      facts[key] = {many ? "some" : value};
    } else if (key == "TracerPid") {
      facts[key] = {value == "0" ? "none" : "one"};
    } else if (key == "Seccomp_filters") {
      // A container's own count, too.
      facts[key] = {absl::StrCat(NumberOf(value) - NumberOf(same))};
    } else if (absl::StartsWith(key, "Speculation") ||
               absl::EndsWith(key, "allowed_list") || key == "Mems_allowed" ||
               key == "untag_mask" || key == "THP_enabled") {
      facts[key] = OrHost(value, same);
    } else {
      facts[key] = {value};
    }
  }
  facts.erase("Mems_allowed");
}

Facts FactsOf(const Scene& scene, const Member& member,
              const Placeholders& placeholders) {
  Facts facts;
  AddStatus(scene, member, member.status, facts);
  AddNamespaces(scene, member, "", facts);
  AddScheduling(member.pid, facts);
  AddLimits(member.pid, facts);
  AddProcess(scene, member, facts);
  AddFiles(scene, member, facts);
  AddMounts(scene, member, facts);
  AddUserNamespace(scene, member, facts);
  AddGroups(scene, member, facts);
  Facts steady;
  // As gcc names its own.
  static const std::regex kTemporary("/tmp/cc[A-Za-z0-9]{6}");
  // Of what was prepared for a language.
  static const std::regex kDigest("(/var/cache/sandglass/[a-z]+)-[0-9a-f]{16}");
  const auto make_steady = [&](const std::string& text) {
    const std::string steady_text = std::regex_replace(
        absl::StrReplaceAll(text, placeholders), kTemporary, "/tmp/ccRANDOM");
    return std::regex_replace(steady_text, kDigest, "$1-DIGEST");
  };
  for (auto& [key, fact] : facts) {
    for (std::string& value : fact) {
      value = OneLine(make_steady(value));
      absl::StripAsciiWhitespace(&value);
    }
    steady[make_steady(key)] = std::move(fact);
  }
  return steady;
}

Facts ThreadFactsOf(const Scene& scene, const Member& member) {
  const auto read = [&](pid_t thread) {
    Facts facts;
    const std::string place = absl::StrCat("task/", thread, "/");
    AddStatus(scene, member, StatusOf(thread), facts);
    AddNamespaces(scene, member, place, facts);
    AddScheduling(thread, facts);
    for (const char* link : {"cwd", "root"}) {
      facts[link] = {LinkOf(member.pid, place + link)};
    }
    facts["groups"] = {absl::StrJoin(GroupsOf(thread), " ")};
    facts["timerslack"] = {OneLine(ReadProc(thread, "timerslack_ns"))};
    facts["personality"] = {OneLine(ReadProc(thread, "personality"))};
    facts.erase("Name");
    return facts;
  };
  const Facts first = read(member.pid);
  std::map<std::string, std::set<std::string>> different;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(
           absl::StrCat("/proc/", member.pid, "/task"), error)) {
    pid_t thread = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &thread)) continue;
    const Facts each = read(thread);
    // It has ended.
    if (!each.contains("Uid")) continue;
    for (const auto& [key, fact] : first) {
      const auto found = each.find(key);
      if (found == each.end() || found->second != fact) {
        different[key].insert(found == each.end() ? "absent"
                                                  : found->second.front());
      }
    }
    for (const auto& [key, fact] : each) {
      if (!first.contains(key)) different[key].insert(fact.front());
    }
  }
  Facts facts;
  for (const auto& [key, values] : different) {
    facts[key] = {absl::StrJoin(values, " | ")};
  }
  return facts;
}

bool HostKnows(const Scene& scene, const std::string& key) {
  const std::vector<std::string> words = Words(key);
  if (words.empty()) return false;
  std::error_code error;
  if (words[0] == "ns") {
    return NamespacesOf(getpid()).contains(words[1]);
  }
  if (words[0] == "sysctl") {
    return fs::exists("/proc/sys/user/" + words[1], error);
  }
  if (words[0] == "shown" && words.size() == 4) {
    return fs::exists(fs::symlink_status("/proc/" + words[3], error));
  }
  if (words[0] == "group" && words.size() == 4) {
    // Of the daemon's own groups, which have all that the kernel has.
    for (const std::string& group : GroupsOf(scene.daemon().pid)) {
      const fs::path place = GroupDirectory(group);
      if (fs::exists(place.parent_path() / words[3], error)) return true;
    }
    return false;
  }
  const std::map<std::string, std::string> host = StatusOf(getpid());
  static const std::set<std::string> kSometimes = {"Kthread",
                                                   "THP_enabled",
                                                   "untag_mask",
                                                   "x86_Thread_features",
                                                   "x86_Thread_features_locked",
                                                   "SpeculationIndirectBranch",
                                                   "Seccomp_filters"};
  return !kSometimes.contains(key) || host.contains(key);
}

}  // namespace sandglass::testing
