#include "sandbox/jailed/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/jailed/call_trace.h"
#include "sandbox/jailed/code_rights.h"
#include "sandbox/jailed/limit_files.h"
#include "sandbox/jailed/program.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "sandbox/os/terminal.h"

namespace sandglass::sandbox {
namespace {

// How long an ended process's group is kept: its counters disappear with it.
constexpr int64_t kKeptNs = 1'000'000'000;

// A process that was being started while the list was read is in the next one.
constexpr int kKillRounds = 3;

std::string GroupName(uint64_t group) { return absl::StrCat("p-", group); }

// Kills the processes that the control group lists by pid. Unlike cgroup.kill,
// kill(2) reaches the threads of a process whose main thread has ended.
void KillListed(int group) {
  for (int round = 0; round < kKillRounds; ++round) {
    const absl::StatusOr<std::string> list =
        os::ReadSmallFile(group, "cgroup.procs");
    if (!list.ok() || list->empty()) return;
    for (const absl::string_view line :
         absl::StrSplit(*list, '\n', absl::SkipEmpty())) {
      pid_t pid = 0;
      // 0: a process outside of this pid namespace.
      if (absl::SimpleAtoi(line, &pid) && pid > 1) (void)::kill(pid, SIGKILL);
    }
  }
}

internal::InitEvent Failed(const internal::Spawn& request, SetupStep step,
                           int error) {
  internal::InitEvent event;
  internal::SpawnFailed& failed = *event.mutable_spawn_failed();
  failed.set_process_id(request.process_id());
  failed.mutable_failure()->set_step(static_cast<int>(step));
  failed.mutable_failure()->set_error(error);
  return event;
}

}  // namespace

bool Processes::HaveRules() {
  if (plan_.landlock_abi == 0 || landlock_ruleset_.valid()) return true;
  // All these paths are mounts or part of the image, so the code can't have
  // moved them.
  landlock_ruleset_ =
      MakeLandlockRules(plan_.landlock_abi, os::LandlockScopes::kNone);
  return landlock_ruleset_.valid();
}

bool Processes::MakeStreams(const internal::Spawn& request, Ends& ends) {
  if (request.stdio() == internal::STDIO_TERMINAL &&
      !(os::OpenTerminal(kTerminals, ends.terminal_master, ends.terminal) &&
        os::SetTerminalSize(ends.terminal.get(),
                            static_cast<uint16_t>(request.rows()),
                            static_cast<uint16_t>(request.columns())))) {
    return false;
  }
  // The code's uid must own pipes, so that the process can open /dev/stdout.
  const CodeRights rights;
  if (request.with_channel() && !MakePipe(DaemonEnd::kRead, ends.channel)) {
    return false;
  }
  if (request.stdio() == internal::STDIO_TERMINAL) return true;
  if (request.with_stdin()) {
    if (!MakePipe(DaemonEnd::kWrite, ends.in)) return false;
  } else {
    ends.in.program.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!ends.in.program.valid()) return false;
  }
  return MakePipe(DaemonEnd::kRead, ends.out) &&
         (request.stdio() == internal::STDIO_MERGED_PIPES ||
          MakePipe(DaemonEnd::kRead, ends.err));
}

os::Fd Processes::MakeGroup(uint64_t group) const {
  const std::string name = GroupName(group);
  if (::mkdirat(plan_.run_cgroup, name.c_str(), 0755) != 0) return os::Fd();
  ShowSubgroup(limit_files_, name.c_str());
  return os::Fd(::openat(plan_.run_cgroup, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool Processes::GiveEnds(Ends& ends, const os::Fd& group,
                         internal::Spawned& event, Fds& fds) {
  os::Fd kill(::openat(group.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  os::Fd events(::openat(group.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  os::Fd cpu(::openat(group.get(), "cpu.stat", O_RDONLY | O_CLOEXEC));
  os::Fd list(::openat(group.get(), "cgroup.procs", O_RDONLY | O_CLOEXEC));
  if (!kill.valid() || !events.valid() || !cpu.valid() || !list.valid()) {
    return false;
  }
  for (const auto& [role, fd] :
       {std::pair(internal::FD_ROLE_STDIN, &ends.in.daemon),
        std::pair(internal::FD_ROLE_STDOUT, &ends.out.daemon),
        std::pair(internal::FD_ROLE_STDERR, &ends.err.daemon),
        std::pair(internal::FD_ROLE_TERMINAL, &ends.terminal_master),
        std::pair(internal::FD_ROLE_CHANNEL, &ends.channel.daemon),
        std::pair(internal::FD_ROLE_KILL_PROCESS, &kill),
        std::pair(internal::FD_ROLE_PROCESS_EVENTS, &events),
        std::pair(internal::FD_ROLE_PROCESS_CPU, &cpu),
        std::pair(internal::FD_ROLE_PROCESS_LIST, &list)}) {
    if (!fd->valid()) continue;
    event.add_roles(role);
    fds.push_back(std::move(*fd));
  }
  return true;
}

internal::InitEvent Processes::Spawn(const internal::Spawn& request,
                                     absl::Span<const sock_filter> filter,
                                     CallTrace* trace, void* report_memory,
                                     Fds& fds) {
  RemoveEmptyGroups();
  any_ = true;
  if (!HaveRules()) {
    return Failed(request, SetupStep::kLandlockRules, errno);
  }
  Ends ends;
  if (!MakeStreams(request, ends)) {
    return Failed(request, SetupStep::kMakePipes, errno);
  }
  const uint64_t group = ++last_group_;
  const os::Fd directory = MakeGroup(group);
  internal::InitEvent event;
  internal::Spawned& spawned = *event.mutable_spawned();
  if (!directory.valid() || !GiveEnds(ends, directory, spawned, fds)) {
    const int error = errno;
    ended_groups_.push_back({0, group, 0});
    fds.clear();
    return Failed(request, SetupStep::kPrepareCgroup, error);
  }
  const std::vector<char*> argv = Pointers(request.argv());
  const std::vector<char*> env = Pointers(request.env());
  const bool on_terminal = ends.terminal.valid();
  const int out = on_terminal ? ends.terminal.get() : ends.out.program.get();
  const ProcessStart start = {
      .argv = argv.data(),
      .env = env.data(),
      .directory = request.directory().c_str(),
      .cgroup = directory.get(),
      .streams = {on_terminal ? out : ends.in.program.get(), out,
                  ends.err.program.valid() ? ends.err.program.get() : out},
      .channel = ends.channel.program.get(),
      .on_terminal = on_terminal,
      .limits = {request.open_files(), request.file_size_bytes(),
                 request.cpu_seconds()}};
  StartReport& report = *new (report_memory) StartReport;
  const pid_t pid =
      trace != nullptr
          ? trace->StartProcess(plan_, landlock_ruleset_, start, report)
          : StartProcess(plan_, landlock_ruleset_, filter, start, report);
  if (pid < 0) {
    ended_groups_.push_back({0, group, 0});
    fds.clear();
    return Failed(request, report.clock.current(), report.error);
  }
  running_[pid] = {request.process_id(), group};
  spawned.set_process_id(request.process_id());
  spawned.set_pid(pid);
  spawned.set_monotonic_ns(report.exec_monotonic_ns);
  return event;
}

bool Processes::Ended(pid_t pid, uint64_t& process_id) {
  const auto found = running_.find(pid);
  if (found == running_.end()) return false;
  process_id = found->second.process_id;
  ended_groups_.push_back(
      {process_id, found->second.group, os::MonotonicNanos()});
  running_.erase(found);
  return true;
}

void Processes::KillGroup(uint64_t group) const {
  const os::Fd directory(::openat(plan_.run_cgroup, GroupName(group).c_str(),
                                  O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return;
  // ORDER: frozen first: a frozen process starts no others, and can be killed
  // all the same.
  (void)os::WriteControlFile(directory.get(), "cgroup.freeze", "1");
  KillListed(directory.get());
}

void Processes::Kill(uint64_t process_id) {
  for (const auto& [pid, running] : running_) {
    if (running.process_id == process_id) return KillGroup(running.group);
  }
  for (const EndedGroup& ended : ended_groups_) {
    if (ended.process_id == process_id) return KillGroup(ended.group);
  }
}

void Processes::KillAll() {
  for (const auto& [pid, running] : running_) KillGroup(running.group);
  for (const EndedGroup& ended : ended_groups_) KillGroup(ended.group);
  KillListed(plan_.run_cgroup);
}

void Processes::End(uint64_t process_id) const {
  const auto found = std::find_if(
      running_.begin(), running_.end(),
      [&](const auto& entry) { return entry.second.process_id == process_id; });
  if (found == running_.end()) return;
  const os::Fd kill(::openat(
      plan_.run_cgroup,
      absl::StrCat(GroupName(found->second.group), "/cgroup.kill").c_str(),
      O_WRONLY | O_CLOEXEC));
  // By its pid if the group can't be opened: what it started is then killed
  // when the jail ends.
  if (!kill.valid() || ::write(kill.get(), "1", 1) != 1) {
    (void)::kill(found->first, SIGKILL);
  }
}

void Processes::RemoveEmptyGroups() {
  const int64_t now = os::MonotonicNanos();
  // EBUSY: it still contains a process, which will be reaped here later.
  std::erase_if(ended_groups_, [&](const EndedGroup& ended) {
    const std::string name = GroupName(ended.group);
    const bool gone =
        now - ended.ended_ns >= kKeptNs &&
        (::unlinkat(plan_.run_cgroup, name.c_str(), AT_REMOVEDIR) == 0 ||
         errno == ENOENT);
    if (gone) HideSubgroup(limit_files_, name.c_str());
    return gone;
  });
}

}  // namespace sandglass::sandbox
