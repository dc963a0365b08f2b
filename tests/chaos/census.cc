#include "tests/chaos/census.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/host/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

int LinesWith(const std::string& text, const std::string& part) {
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, part)) ++lines;
  }
  return lines;
}

// Files that somebody writes, by the names that the daemon gives them.
bool IsTemporary(const std::string& name) {
  return absl::StartsWith(name, ".unfinished") || absl::EndsWith(name, ".new");
}

// What it is of, without the numbers that tell apart those of one kind.
std::string KindOf(const fs::path& descriptor) {
  std::error_code error;
  std::string target = fs::read_symlink(descriptor, error).string();
  std::erase_if(target, [](char c) { return c >= '0' && c <= '9'; });
  return target;
}

void CountDescriptors(pid_t pid, const std::string& name, Census& census) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    const std::string kind = KindOf(entry.path());
    // What the compile cache holds in memory, which has a bound of its own.
    if (absl::StartsWith(kind, "/memfd:compiled")) continue;
    ++census[absl::StrCat("descriptor of ", name, ", ", kind)];
  }
}

// Children that nobody has waited for, of these processes.
void CountZombies(const std::set<Process>& parents, Census& census) {
  std::map<std::string, std::string> names;  // of the parents, by pid
  for (const Process& process : parents) {
    names[absl::StrCat(process.pid)] = NameOf(process.pid);
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const auto status = StatusOf(pid);
    const auto state = status.find("State");
    const auto parent = status.find("PPid");
    if (state == status.end() || parent == status.end() ||
        !absl::StartsWith(state->second, "Z")) {
      continue;
    }
    if (const auto it = names.find(parent->second); it != names.end()) {
      ++census[absl::StrCat("zombie child of ", it->second)];
    }
  }
}

std::set<Process> AllProcesses(const Daemon& daemon) {
  const std::vector<Process> tree = daemon.Processes();
  std::set<Process> all(tree.begin(), tree.end());
  const std::set<std::string> roots = DaemonGroups(daemon.groups());
  for (const Process& process :
       ProcessesInGroups({roots.begin(), roots.end()})) {
    all.insert(process);
  }
  return all;
}

}  // namespace

void ForEachBelow(
    const std::string& directory,
    const std::function<void(const fs::directory_entry&)>& function) {
  std::error_code error;
  // Not recursive_directory_iterator, which ends at the first that is gone.
  for (fs::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    function(*it);
    std::error_code ignored;
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) {
      ForEachBelow(it->path().string(), function);
    }
  }
}

std::vector<std::string> GroupRoots(const Daemon& daemon) {
  std::vector<std::string> directories;
  for (const std::string& root : DaemonGroups(daemon.groups())) {
    if (std::string path = GroupDirectory(root); !path.empty()) {
      directories.push_back(std::move(path));
    }
  }
  return directories;
}

Census Count(const Daemon& daemon, const CensusPlaces& places) {
  Census census;
  const std::set<Process> processes = AllProcesses(daemon);
  CountZombies(processes, census);
  for (const Process& process : processes) {
    const std::string name = NameOf(process.pid);
    if (name.empty()) continue;
    ++census[absl::StrCat("process ", name)];
    if (absl::StartsWith(name, "sandglass-spawn")) {
      census["mount of spawners"] +=
          LinesWith(ReadProc(process.pid, "mountinfo"), " - ");
    }
    if (name == "sandglassd" || absl::StartsWith(name, "sandglass-spawn") ||
        absl::StartsWith(name, "sandglass-egres")) {
      CountDescriptors(process.pid, name, census);
    }
  }
  for (const std::string& root : GroupRoots(daemon)) {
    ForEachBelow(root, [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (entry.is_directory(ignored)) ++census["cgroup"];
    });
  }
  census["mount"] =
      LinesWith(ReadProc(getpid(), "mountinfo"), places.named + "/");
  census["socket"] = LinesWith(ReadFile("/proc/net/unix"), places.named + "/");
  for (const std::string& directory : places.directories) {
    ForEachBelow(directory,
                 [&](const fs::directory_entry&) { ++census["file"]; });
  }
  for (const std::string& directory : places.written) {
    ForEachBelow(directory, [&](const fs::directory_entry& entry) {
      if (IsTemporary(entry.path().filename().string())) {
        ++census["temporary file"];
      }
    });
  }
  return census;
}

std::vector<std::string> More(const Census& now, const Census& before) {
  std::vector<std::string> more;
  for (const auto& [kind, count] : now) {
    const auto it = before.find(kind);
    const int had = it == before.end() ? 0 : it->second;
    if (count > had) {
      more.push_back(absl::StrCat(kind, ": ", count, ", had ", had));
    }
  }
  return more;
}

std::vector<std::string> MissingProcesses(const Census& now,
                                          const Census& before) {
  std::vector<std::string> missing;
  for (const auto& [kind, had] : before) {
    if (!absl::StartsWith(kind, "process ")) continue;
    if (!now.contains(kind)) {
      missing.push_back(absl::StrCat(kind, ": none, had ", had));
    }
  }
  return missing;
}

uint64_t RssOf(const Daemon& daemon, const std::string& name) {
  uint64_t bytes = 0;
  for (const Process& process : daemon.Processes()) {
    if (NameOf(process.pid) != name) continue;
    for (const absl::string_view each :
         absl::StrSplit(ReadProc(process.pid, "smaps_rollup"), '\n')) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(each, ' ', absl::SkipEmpty());
      uint64_t kib = 0;
      if (words.size() == 3 && words[0] == "Rss:" &&
          absl::SimpleAtoi(words[1], &kib)) {
        bytes += kib << 10;
      }
    }
  }
  return bytes;
}

}  // namespace sandglass::testing
