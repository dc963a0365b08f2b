#include "tests/support/host/process.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/fd.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

struct Stat {
  char state = 0;
  pid_t parent = 0;
  uint64_t start_ticks = 0;
};

std::optional<Stat> ReadStat(pid_t pid) {
  const std::string text = ReadProc(pid, "stat");
  // The name in parentheses may hold anything, so count from its end.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(end + 1));
  Stat stat;
  rest >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) rest >> skipped;
  rest >> stat.start_ticks;
  if (!rest) return std::nullopt;
  return stat;
}

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end;
       !error && it != end; it.increment(error)) {
    int pid = 0;
    if (absl::SimpleAtoi(it->path().filename().string(), &pid)) {
      pids.push_back(pid);
    }
  }
  return pids;
}

bool IsDead(char state) { return state == 'Z' || state == 'X'; }

}  // namespace

std::optional<Process> FindProcess(pid_t pid) {
  const std::optional<Stat> stat = ReadStat(pid);
  if (!stat) return std::nullopt;
  return Process{pid, stat->start_ticks};
}

bool IsAlive(const Process& process) {
  const std::optional<Stat> stat = ReadStat(process.pid);
  return stat && stat->start_ticks == process.start_ticks &&
         !IsDead(stat->state);
}

std::vector<Process> ProcessTree(pid_t root) {
  std::multimap<pid_t, Process> children;
  std::vector<Process> tree;
  for (pid_t pid : AllPids()) {
    const std::optional<Stat> stat = ReadStat(pid);
    if (!stat) continue;
    const Process process{pid, stat->start_ticks};
    if (pid == root) {
      tree.push_back(process);
    } else if (!IsDead(stat->state)) {
      children.emplace(stat->parent, process);
    }
  }
  for (size_t i = 0; i < tree.size(); ++i) {
    const auto [first, last] = children.equal_range(tree[i].pid);
    for (auto it = first; it != last; ++it) tree.push_back(it->second);
  }
  return tree;
}

std::vector<Process> FindByCommand(pid_t root, std::string_view text) {
  std::vector<Process> found;
  for (const Process& process : ProcessTree(root)) {
    if (CommandOf(process.pid).find(text) != std::string::npos) {
      found.push_back(process);
    }
  }
  return found;
}

std::vector<std::string> GroupsOf(pid_t pid) {
  std::vector<std::string> groups;
  for (const std::string& line : Lines(ReadProc(pid, "cgroup"))) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) groups.push_back(line.substr(colon + 1));
  }
  return groups;
}

std::vector<Process> ProcessesInGroups(const std::vector<std::string>& groups) {
  std::vector<Process> found;
  for (pid_t pid : AllPids()) {
    const std::optional<Stat> stat = ReadStat(pid);
    if (!stat || IsDead(stat->state)) continue;
    const std::vector<std::string> own = GroupsOf(pid);
    const bool inside =
        std::any_of(own.begin(), own.end(), [&](const std::string& group) {
          return std::any_of(
              groups.begin(), groups.end(), [&](const std::string& wanted) {
                return group == wanted || group.rfind(wanted + "/", 0) == 0;
              });
        });
    if (inside) found.push_back(Process{pid, stat->start_ticks});
  }
  return found;
}

std::set<std::string> DaemonGroups(const std::vector<std::string>& groups) {
  std::set<std::string> tops;
  for (const std::string& group : groups) {
    const size_t name = group.find("/sandglass-");
    if (name == std::string::npos) continue;
    tops.insert(group.substr(0, group.find('/', name + 1)));
  }
  return tops;
}

std::string GroupDirectory(const std::string& group) {
  const size_t colon = group.find(':');
  const std::string controllers = group.substr(0, colon);
  const std::string path = group.substr(colon + 1);
  for (const std::string& line : Lines(ReadProc(getpid(), "mountinfo"))) {
    const std::vector<std::string> halves = absl::StrSplit(line, " - ");
    if (halves.size() != 2) continue;
    const std::vector<std::string> mount = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> type = absl::StrSplit(halves[1], ' ');
    if (mount.size() < 5 || type.size() < 3) continue;
    bool here = false;
    if (type[0] == "cgroup2") {
      here = controllers.empty();
    } else if (type[0] == "cgroup" && !controllers.empty()) {
      const std::vector<std::string> options = absl::StrSplit(type[2], ',');
      const std::vector<std::string> wanted = absl::StrSplit(controllers, ',');
      here =
          std::find(options.begin(), options.end(), wanted[0]) != options.end();
    }
    if (here) return absl::StrCat(mount[4], path);
  }
  return "";
}

std::string ReadProc(pid_t pid, const std::string& name) {
  // Not by streams: reading of a process that ends meanwhile fails with ESRCH,
  // which they throw.
  const os::Fd file(open(absl::StrCat("/proc/", pid, "/", name).c_str(),
                         O_RDONLY | O_CLOEXEC));
  std::string content;
  char buffer[4096];
  ssize_t size = 0;
  while (file.valid() &&
         (size = read(file.get(), buffer, sizeof(buffer))) > 0) {
    content.append(buffer, static_cast<size_t>(size));
  }
  return content;
}

std::map<std::string, std::string> StatusOf(pid_t pid) {
  std::map<std::string, std::string> status;
  for (const std::string& line : Lines(ReadProc(pid, "status"))) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string value = line.substr(colon + 1);
    absl::StripAsciiWhitespace(&value);
    status[line.substr(0, colon)] = value;
  }
  return status;
}

std::string CommandOf(pid_t pid) {
  std::string command = ReadProc(pid, "cmdline");
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

std::string NameOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string Describe(const Process& process) {
  std::string command = CommandOf(process.pid).substr(0, 120);
  if (command.empty()) {
    command = ReadProc(process.pid, "comm");
    absl::StripAsciiWhitespace(&command);
  }
  return absl::StrCat("pid ", process.pid, " (", command, ")");
}

std::string Describe(const std::vector<Process>& processes) {
  return absl::StrJoin(processes, ", ",
                       [](std::string* out, const Process& process) {
                         out->append(Describe(process));
                       });
}

bool Kill(const Process& process, int signal) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  if (fd < 0) return false;
  // The pidfd is taken first: if the pid still is our process now, the pidfd
  // is that process for good.
  const bool sent = IsAlive(process) &&
                    syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
  close(fd);
  return sent;
}

bool WaitUntilDead(const std::vector<Process>& processes,
                   absl::Duration timeout) {
  return WaitUntil(
      [&] { return std::none_of(processes.begin(), processes.end(), IsAlive); },
      timeout);
}

}  // namespace sandglass::testing
