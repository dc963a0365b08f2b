#ifndef SANDGLASS_TESTS_SUPPORT_HOST_PROCESS_H_
#define SANDGLASS_TESTS_SUPPORT_HOST_PROCESS_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

// What the host's /proc says about processes. Everything here only reads,
// except Kill, which a caller may use on its own descendants alone.
namespace sandglass::testing {

// A process that a later one with the same pid cannot be taken for.
struct Process {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat

  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler makes of it
  friend auto operator<=>(const Process&, const Process&) = default;
};

// The process that has this pid now; nothing when there is none.
std::optional<Process> FindProcess(pid_t pid);

// False for a zombie too: nothing of it runs any more.
bool IsAlive(const Process& process);

// `root` itself, its children, their children and so on; zombies left out.
std::vector<Process> ProcessTree(pid_t root);

// Those of ProcessTree(root) whose command line contains `text`.
std::vector<Process> FindByCommand(pid_t root, std::string_view text);

// Every process on the host whose /proc/<pid>/cgroup names one of `groups` or
// a group below it. A group is "<controllers>:<path>" as that file spells it.
std::vector<Process> ProcessesInGroups(const std::vector<std::string>& groups);

// The lines of /proc/<pid>/cgroup as "<controllers>:<path>".
std::vector<std::string> GroupsOf(pid_t pid);

// Of "memory:/outer/sandglass-0123abcd/server", say, "memory:/outer/
// sandglass-0123abcd": those under which a daemon has all that it makes.
std::set<std::string> DaemonGroups(const std::vector<std::string>& groups);

// The directory of a group of GroupsOf, where this host has it mounted; empty
// when the hierarchy is not mounted.
std::string GroupDirectory(const std::string& group);

// A file of /proc/<pid>/, whole; empty when it can't be read.
std::string ReadProc(pid_t pid, const std::string& name);

// /proc/<pid>/status by its keys, values trimmed.
std::map<std::string, std::string> StatusOf(pid_t pid);

// NUL-separated arguments as one line.
std::string CommandOf(pid_t pid);

// "pid 12 (python3 /workspace/main.py)" for messages.
// The name it gave itself or of what it runs (/proc/<pid>/comm); "" when there
// is no such process.
std::string NameOf(pid_t pid);

std::string Describe(const Process& process);
std::string Describe(const std::vector<Process>& processes);

// Sends a signal by pidfd, so that a reused pid is never hit. False when the
// process was gone.
bool Kill(const Process& process, int signal);

// True when all are dead before `timeout`.
bool WaitUntilDead(const std::vector<Process>& processes,
                   absl::Duration timeout);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HOST_PROCESS_H_
