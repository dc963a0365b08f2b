#include "sandbox/jail/session_jail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "internal/spawner.pb.h"
#include "sandbox/jail/jail_process.h"
#include "sandbox/jail/untrusted_fds.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

// PID_MAX_LIMIT of the kernel.
constexpr pid_t kMaxPid = 4 << 20;

internal::Stdio StdioOf(ProcessSpec::Stdio stdio) {
  switch (stdio) {
    case ProcessSpec::Stdio::kPipes:
      return internal::STDIO_PIPES;
    case ProcessSpec::Stdio::kMergedPipes:
      return internal::STDIO_MERGED_PIPES;
    case ProcessSpec::Stdio::kTerminal:
      return internal::STDIO_TERMINAL;
  }
  return internal::STDIO_UNSPECIFIED;
}

std::vector<int> RolesFor(const ProcessSpec& spec) {
  std::vector<int> roles;
  if (spec.stdio == ProcessSpec::Stdio::kTerminal) {
    roles.push_back(internal::FD_ROLE_TERMINAL);
  } else {
    if (spec.with_stdin) roles.push_back(internal::FD_ROLE_STDIN);
    roles.push_back(internal::FD_ROLE_STDOUT);
    if (spec.stdio == ProcessSpec::Stdio::kPipes) {
      roles.push_back(internal::FD_ROLE_STDERR);
    }
  }
  if (spec.with_channel) roles.push_back(internal::FD_ROLE_CHANNEL);
  roles.push_back(internal::FD_ROLE_KILL_PROCESS);
  roles.push_back(internal::FD_ROLE_PROCESS_EVENTS);
  roles.push_back(internal::FD_ROLE_PROCESS_CPU);
  roles.push_back(internal::FD_ROLE_PROCESS_LIST);
  return roles;
}

// Where a descriptor of this role belongs; nullptr when `fd` isn't of the kind
// that the role demands.
os::Fd* TakenAs(int role, const os::Fd& fd, ProcessFds& to) {
  switch (role) {
    case internal::FD_ROLE_STDIN:
      return IsPipeEnd(fd, O_WRONLY) ? &to.stdin_fd : nullptr;
    case internal::FD_ROLE_STDOUT:
      return IsPipeEnd(fd, O_RDONLY) ? &to.stdout_fd : nullptr;
    case internal::FD_ROLE_STDERR:
      return IsPipeEnd(fd, O_RDONLY) ? &to.stderr_fd : nullptr;
    case internal::FD_ROLE_TERMINAL:
      return IsTerminal(fd) ? &to.terminal : nullptr;
    case internal::FD_ROLE_CHANNEL:
      return IsPipeEnd(fd, O_RDONLY) ? &to.channel : nullptr;
    case internal::FD_ROLE_KILL_PROCESS:
      return IsGroupFile(fd, "cgroup.kill", O_WRONLY) ? &to.kill : nullptr;
    case internal::FD_ROLE_PROCESS_EVENTS:
      return IsGroupFile(fd, "cgroup.events", O_RDONLY) ? &to.events : nullptr;
    case internal::FD_ROLE_PROCESS_CPU:
      return IsGroupFile(fd, "cpu.stat", O_RDONLY) ? &to.cpu : nullptr;
    case internal::FD_ROLE_PROCESS_LIST:
      return IsGroupFile(fd, "cgroup.procs", O_RDONLY) ? &to.list : nullptr;
    default:
      return nullptr;
  }
}

bool IsText(const std::string& text) {
  return text.find('\0') == std::string::npos;
}

bool CanBeAsked(const ProcessSpec& spec) {
  return !spec.argv.empty() && spec.directory.substr(0, 1) == "/" &&
         IsText(spec.directory) &&
         std::all_of(spec.argv.begin(), spec.argv.end(), IsText) &&
         std::all_of(spec.env.begin(), spec.env.end(), IsText);
}

absl::StatusOr<std::optional<SessionEvent>> Converted(
    absl::StatusOr<std::optional<JailEvent>> from) {
  if (!from.ok()) return from.status();
  if (!from->has_value()) return std::nullopt;
  return std::visit(
      [](auto&& event) -> absl::StatusOr<std::optional<SessionEvent>> {
        using Event = std::decay_t<decltype(event)>;
        if constexpr (std::is_constructible_v<SessionEvent, Event>) {
          return SessionEvent(std::forward<decltype(event)>(event));
        } else {
          // Raised and ready it was before, and the report isn't read here.
          return BrokenProtocol();
        }
      },
      **std::move(from));
}

std::optional<uint64_t> EventValue(const os::Fd& events, const char* key) {
  // Read through the watched descriptor, because reading is what re-arms its
  // POLLPRI.
  char text[256];
  const ssize_t size = ::pread(events.get(), text, sizeof(text), 0);
  if (size <= 0) return std::nullopt;
  return os::FindKey({text, static_cast<size_t>(size)}, key);
}

}  // namespace

bool SpawnFailedEvent::IsCallersMistake() const {
  return (step == SetupStep::kExec || step == SetupStep::kEnterDirectory) &&
         !os::IsShortage(error) && error != EINTR;
}

absl::Status KillGroup(const os::Fd& kill) {
  // ENODEV: the group is gone, so there is nothing left to kill.
  if (::write(kill.get(), "1", 1) == 1 || errno == ENODEV) {
    return absl::OkStatus();
  }
  return os::ErrnoStatus("kill a process by its control group");
}

bool GroupIsEmpty(const os::Fd& events) {
  return EventValue(events, "populated").value_or(0) == 0;
}

GroupCpu GroupCpuTime(const os::Fd& cpu) {
  const std::string usage = os::ReadControlFile(cpu);
  return {absl::Microseconds(os::FindKey(usage, "user_usec").value_or(0)),
          absl::Microseconds(os::FindKey(usage, "system_usec").value_or(0))};
}

uint32_t CountGroup(const os::Fd& list) {
  const std::string pids = os::ReadControlFile(list);
  return static_cast<uint32_t>(std::count(pids.begin(), pids.end(), '\n'));
}

SessionJail::SessionJail(std::unique_ptr<Jail> jail) : jail_(std::move(jail)) {
  jail_->BecomeSessions();
}

absl::Status SessionJail::Spawn(uint64_t id, const ProcessSpec& spec) {
  if (!CanBeAsked(spec)) {
    return absl::InvalidArgumentError("there is no such command or directory");
  }
  if (frozen_) return absl::FailedPreconditionError("the jail is frozen");
  if (processes_.size() >= kMaxProcesses) {
    return absl::ResourceExhaustedError("too many processes at once");
  }
  absl::StatusOr<DescriptorRoom> room = DescriptorRoom::Find(RoomFor::kCommand);
  if (!room.ok()) return room.status();
  internal::InitRequest request;
  internal::Spawn& spawn = *request.mutable_spawn();
  spawn.set_process_id(id);
  for (const std::string& argument : spec.argv) spawn.add_argv(argument);
  for (const std::string& entry : spec.env) spawn.add_env(entry);
  spawn.set_directory(spec.directory);
  spawn.set_stdio(StdioOf(spec.stdio));
  spawn.set_rows(spec.rows);
  spawn.set_columns(spec.columns);
  spawn.set_with_stdin(spec.with_stdin);
  spawn.set_with_channel(spec.with_channel);
  spawn.set_open_files(spec.open_files);
  spawn.set_file_size_bytes(spec.file_size_bytes);
  spawn.set_cpu_seconds(CeilSeconds(spec.cpu_time));
  const auto [place, is_new] = processes_.try_emplace(id);
  if (!is_new) return absl::InvalidArgumentError("this id is taken");
  place->second.roles = RolesFor(spec);
  place->second.room.emplace(*std::move(room));
  absl::Status sent = os::SendPacket(
      jail_->control_fd(), request.SerializeAsString(), {}, os::Wait::kNo);
  if (!sent.ok()) processes_.erase(place);
  return sent;
}

absl::Status SessionJail::SendSignal(pid_t pid, int signal, bool to_group) {
  if (pid <= 1 || pid > kMaxPid || signal < 1 || signal >= NSIG) {
    return absl::InvalidArgumentError("no such process or signal");
  }
  internal::InitRequest request;
  request.mutable_signal()->set_pid(pid);
  request.mutable_signal()->set_signal(signal);
  request.mutable_signal()->set_to_group(to_group);
  return os::SendPacket(jail_->control_fd(), request.SerializeAsString(), {},
                        os::Wait::kNo);
}

absl::Status SessionJail::KillByPid(uint64_t id) {
  // For init, id 0 means every process.
  if (id == 0) return absl::InvalidArgumentError("no spawned process");
  internal::InitRequest request;
  request.mutable_kill()->set_process_id(id);
  return os::SendPacket(jail_->control_fd(), request.SerializeAsString(), {},
                        os::Wait::kNo);
}

absl::Status SessionJail::OpenFiles() {
  internal::InitRequest request;
  request.mutable_open_files();
  absl::Status sent = os::SendPacket(
      jail_->control_fd(), request.SerializeAsString(), {}, os::Wait::kNo);
  if (sent.ok()) ++files_due_;
  return sent;
}

absl::Status SessionJail::Freeze(bool frozen) {
  if (::write(jail_->parts_.freeze_run.get(), frozen ? "1" : "0", 1) != 1) {
    return os::ErrnoStatus("freeze the run by its control group");
  }
  frozen_ = frozen;
  return absl::OkStatus();
}

bool SessionJail::IsFrozen() const {
  return jail_->RunEvent("frozen").value_or(0) == 1;
}

os::Fd SessionJail::ReleaseReport() {
  return jail_->user_code_ ? std::move(jail_->report_) : os::Fd();
}

absl::StatusOr<std::optional<SessionEvent>> SessionJail::NextEvent() {
  // A runner whose program runs only sends messages through the report pipe.
  if (jail_->has_runner() && !jail_->user_code_ && !runner_lost_) {
    absl::StatusOr<std::optional<JailEvent>> event = jail_->NextRunnerEvent();
    if (!event.ok()) return event.status();
    if (event->has_value() && std::holds_alternative<GoneEvent>(**event)) {
      // The spawner reports the runner's end; init lives on.
      runner_lost_ = true;
      jail_->parts_.runner.reset();
    } else if (event->has_value()) {
      return Converted(std::move(event));
    }
  }
  if (jail_->prestarted_ && !jail_->waits_) {
    absl::StatusOr<std::optional<JailEvent>> event = jail_->NextWord();
    if (!event.ok() || event->has_value()) return Converted(std::move(event));
  }
  return NextControlEvent();
}

absl::StatusOr<std::optional<SessionEvent>> SessionJail::NextControlEvent() {
  std::vector<os::Fd> refused;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(jail_->control_fd(), os::Wait::kNo, &refused);
  CloseAside(std::move(refused));
  if (absl::IsNotFound(packet.status())) return std::nullopt;
  if (absl::IsOutOfRange(packet.status())) return GoneEvent{};
  internal::InitEvent event;
  if (!packet.ok()) return BrokenProtocol();
  absl::StatusOr<std::optional<SessionEvent>> taken = BrokenProtocol();
  if (event.ParseFromString(packet->data)) {
    taken = packet->lost_fds ? HandleWithoutFds(event)
                             : HandleEvent(event, packet->fds);
  }
  // When the event's descriptors have all been taken, none is left here.
  std::erase_if(packet->fds, [](const os::Fd& fd) { return !fd.valid(); });
  if (packet->fds.empty()) return taken;
  CloseAside(std::move(packet->fds));
  return BrokenProtocol();
}

absl::StatusOr<std::optional<SessionEvent>> SessionJail::HandleEvent(
    const internal::InitEvent& event, std::vector<os::Fd>& fds) {
  switch (event.event_case()) {
    case internal::InitEvent::kSpawned:
      return HandleSpawned(event.spawned(), fds);
    case internal::InitEvent::kSpawnFailed: {
      const internal::SpawnFailed& failed = event.spawn_failed();
      const auto found = processes_.find(failed.process_id());
      const int step = failed.failure().step();
      if (found == processes_.end() || found->second.stage != Stage::kAsked ||
          step < 0 || step >= kSetupStepCount) {
        return BrokenProtocol();
      }
      processes_.erase(found);
      return SpawnFailedEvent{failed.process_id(), static_cast<SetupStep>(step),
                              failed.failure().error()};
    }
    case internal::InitEvent::kProcessExited: {
      const internal::ProcessExited& exited = event.process_exited();
      const auto found = processes_.find(exited.process_id());
      if (found == processes_.end() || found->second.stage == Stage::kAsked) {
        return BrokenProtocol();
      }
      const bool lost = found->second.stage == Stage::kLost;
      processes_.erase(found);
      if (lost) return std::nullopt;
      ProcessExitedEvent ended = {
          exited.process_id(), exited.wait_status(), exited.monotonic_ns(), {}};
      if (exited.has_refused() &&
          (!jail_->traces_calls() ||
           !ReadRefused(exited.refused(), ended.refused))) {
        return BrokenProtocol();
      }
      return ended;
    }
    case internal::InitEvent::kFilesOpened: {
      const int error = event.files_opened().error();
      if (files_due_ == 0 || fds.size() != (error == 0 ? 1u : 0u) ||
          (error == 0 && !IsUnixSeqPacket(fds[0]))) {
        return BrokenProtocol();
      }
      --files_due_;
      return FileChannelEvent{error == 0 ? std::move(fds[0]) : os::Fd(), error};
    }
    case internal::InitEvent::kExited:
      if (std::exchange(main_ended_, true)) return BrokenProtocol();
      break;
    default:
      break;
  }
  return Converted(jail_->HandleInitEvent(event, fds));
}

absl::StatusOr<std::optional<SessionEvent>> SessionJail::HandleWithoutFds(
    const internal::InitEvent& event) {
  if (event.has_files_opened() && event.files_opened().error() == 0 &&
      files_due_ > 0) {
    // The agent ends when the other end of its socket closes, which has
    // happened.
    --files_due_;
    return FileChannelEvent{os::Fd(), EMFILE};
  }
  const auto found = processes_.find(event.spawned().process_id());
  if (!event.has_spawned() || found == processes_.end() ||
      found->second.stage != Stage::kAsked) {
    return BrokenProtocol();
  }
  // Without its descriptors nobody could kill it later, or read what it writes.
  internal::InitRequest request;
  request.mutable_end_process()->set_process_id(event.spawned().process_id());
  if (absl::Status sent = os::SendPacket(
          jail_->control_fd(), request.SerializeAsString(), {}, os::Wait::kNo);
      !sent.ok()) {
    return sent;
  }
  found->second.stage = Stage::kLost;
  found->second.room.reset();
  return SpawnFailedEvent{event.spawned().process_id(), SetupStep::kMakePipes,
                          EMFILE};
}

absl::StatusOr<std::optional<SessionEvent>> SessionJail::HandleSpawned(
    const internal::Spawned& event, std::vector<os::Fd>& fds) {
  const auto found = processes_.find(event.process_id());
  if (found == processes_.end() || found->second.stage != Stage::kAsked ||
      event.pid() <= 1 || event.pid() > kMaxPid ||
      fds.size() != found->second.roles.size() ||
      !std::equal(event.roles().begin(), event.roles().end(),
                  found->second.roles.begin(), found->second.roles.end())) {
    return BrokenProtocol();
  }
  SpawnedEvent spawned = {
      event.process_id(), event.pid(), event.monotonic_ns(), {}};
  for (size_t i = 0; i < fds.size(); ++i) {
    os::Fd* const place = TakenAs(found->second.roles[i], fds[i], spawned.fds);
    if (place == nullptr) return BrokenProtocol();
    *place = std::move(fds[i]);
  }
  found->second.stage = Stage::kRunning;
  found->second.room.reset();
  return spawned;
}

}  // namespace sandglass::sandbox
