// The messages of a jail's init and runner. Neither is trusted: each message is
// accepted only where it belongs, and each descriptor only if it is of the
// expected kind.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/str_split.h"
#include "internal/spawner.pb.h"
#include "policy/text/paths.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/untrusted_fds.h"
#include "sandbox/os/asked_calls.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/wire/runner_protocol.h"

namespace sandglass::sandbox {
namespace {

// Each step comes once; some come a second time when there is an interpreter
// that waits.
constexpr size_t kMaxSteps = 3 * size_t{kSetupStepCount};
constexpr uint64_t kMaxStepNanos = 3'600'000'000'000;
constexpr size_t kMaxPathBytes = 4096;  // PATH_MAX

bool AddSteps(
    const google::protobuf::RepeatedPtrField<internal::StepTime>& from,
    std::vector<StepTiming>& to) {
  for (const internal::StepTime& step : from) {
    if (!AddStep(step.step(), step.nanoseconds(), to)) return false;
  }
  return true;
}

bool AddSteps(const os::Packet& packet, const RunnerEvent& event,
              std::vector<StepTiming>& to) {
  if (packet.data.size() !=
      sizeof(event) + event.step_count * sizeof(RunnerStep)) {
    return false;
  }
  for (uint32_t i = 0; i < event.step_count; ++i) {
    RunnerStep step = {};
    packet.data.copy(reinterpret_cast<char*>(&step), sizeof(step),
                     sizeof(event) + i * sizeof(step));
    if (!AddStep(step.step, static_cast<uint64_t>(step.nanoseconds), to)) {
      return false;
    }
  }
  return true;
}

bool StaysBelow(const std::string& path) {
  if (path.size() > kMaxPathBytes || path.find('\0') != std::string::npos) {
    return false;
  }
  for (const absl::string_view segment : absl::StrSplit(path, '/')) {
    if (segment.empty() || segment == "." || segment == "..") return false;
  }
  return true;
}

}  // namespace

bool ReadRefused(const internal::RefusedCalls& from, RefusedCalls& to) {
  if (from.calls_size() > static_cast<int>(kMaxRefusedCalls)) return false;
  for (const internal::RefusedCall& each : from.calls()) {
    RefusedCall call;
    if (each.arguments_size() != static_cast<int>(std::size(call.arguments))) {
      return false;
    }
    call.architecture = each.architecture();
    call.number = each.number();
    call.error = each.error();
    std::copy(each.arguments().begin(), each.arguments().end(), call.arguments);
    call.count = each.count();
    to.calls.push_back(call);
  }
  to.others = from.others();
  return true;
}

bool AddStep(int64_t step, uint64_t nanoseconds,
             std::vector<StepTiming>& steps) {
  if (step < 0 || step >= kSetupStepCount || nanoseconds > kMaxStepNanos ||
      steps.size() >= kMaxSteps) {
    return false;
  }
  steps.push_back(
      {static_cast<SetupStep>(step), absl::Nanoseconds(nanoseconds)});
  return true;
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextControlEvent() {
  std::vector<os::Fd> refused;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(parts_.control.get(), os::Wait::kNo, &refused);
  CloseAside(std::move(refused));
  if (absl::IsNotFound(packet.status())) return std::nullopt;
  if (absl::IsOutOfRange(packet.status())) return GoneEvent{};
  internal::InitEvent event;
  if (!packet.ok()) return BrokenProtocol();
  // Streams or a file: the jail is of no use without.
  if (packet->lost_fds) return DescriptorsLost();
  absl::StatusOr<std::optional<JailEvent>> taken = BrokenProtocol();
  if (event.ParseFromString(packet->data)) {
    taken = HandleInitEvent(event, packet->fds);
  }
  // When the event's descriptors have all been taken, none is left here.
  std::erase_if(packet->fds, [](const os::Fd& fd) { return !fd.valid(); });
  if (packet->fds.empty()) return taken;
  CloseAside(std::move(packet->fds));
  return BrokenProtocol();
}

absl::StatusOr<std::optional<JailEvent>> Jail::HandleInitEvent(
    const internal::InitEvent& event, std::vector<os::Fd>& fds) {
  const bool fit = tmp_fs_.valid();
  switch (event.event_case()) {
    case internal::InitEvent::kReady:
      if (fit || fds.size() != 5 || !os::IsTmpfs(fds[3].get()) ||
          !os::IsTmpfs(fds[4].get()) ||
          !AddSteps(event.ready().steps(), parts_.steps)) {
        return BrokenProtocol();
      }
      // A runner provides streams of its own.
      if (has_runner()) {
        if (!IsPipeEnd(fds[0], O_WRONLY) || !IsPipeEnd(fds[1], O_RDONLY) ||
            !IsPipeEnd(fds[2], O_RDONLY)) {
          return BrokenProtocol();
        }
      } else if (!AdoptStreams(fds)) {
        return BrokenProtocol();
      }
      tmp_fs_ = std::move(fds[3]);
      workspace_fs_ = std::move(fds[4]);
      fds.clear();
      return MaybeReady();
    case internal::InitEvent::kRaised:
      if (std::exchange(raised_, true) || fit ||
          !AddSteps(event.raised().steps(), parts_.steps)) {
        return BrokenProtocol();
      }
      return RaisedEvent{};
    case internal::InitEvent::kFailed:
      if (std::exchange(failed_, true)) return BrokenProtocol();
      return FailedEvent{static_cast<SetupStep>(event.failed().step()),
                         event.failed().error()};
    case internal::InitEvent::kStarted:
      if (!fit || has_runner() || started_ ||
          !AddSteps(event.started().steps(), parts_.steps)) {
        return BrokenProtocol();
      }
      // The interpreter's own start is reported first.
      if (prestarted_ && !std::exchange(interpreter_started_, true)) {
        return std::nullopt;
      }
      if (!has_job_) return BrokenProtocol();
      started_ = true;
      return StartedEvent{event.started().monotonic_ns()};
    case internal::InitEvent::kExited: {
      // With a runner the spawner reports this, and the runner's own message
      // may still be unread.
      if (!has_runner() && !started_) return GoneEvent{};
      ExitedEvent exited = {
          event.exited().wait_status(), event.exited().monotonic_ns(), {}};
      if (event.exited().has_refused() &&
          (!traces_calls() ||
           !ReadRefused(event.exited().refused(), exited.refused))) {
        return BrokenProtocol();
      }
      return exited;
    }
    case internal::InitEvent::kFile: {
      auto problem = static_cast<FileProblem>(event.file().problem());
      if (problem < FileProblem::kNone || problem > FileProblem::kNotRegular ||
          (problem == FileProblem::kNone) != (fds.size() == 1) ||
          !IsWanted(event.file().path())) {
        return BrokenProtocol();
      }
      os::Fd file;
      if (problem == FileProblem::kNone) {
        if (IsFileOfTmpfs(fds[0])) {
          file = std::move(fds[0]);
        } else {
          problem = FileProblem::kNotRegular;
          CloseAside(std::move(fds));
        }
      }
      fds.clear();
      return FileEvent{event.file().path(), problem, std::move(file)};
    }
    case internal::InitEvent::kCollectDone:
      if (!std::exchange(collecting_, false)) return BrokenProtocol();
      return CollectDoneEvent{event.collect_done().truncated()};
    // These only answer requests of sessions.
    case internal::InitEvent::kSpawned:
    case internal::InitEvent::kSpawnFailed:
    case internal::InitEvent::kProcessExited:
    case internal::InitEvent::kFilesOpened:
    case internal::InitEvent::EVENT_NOT_SET:
      break;
  }
  return BrokenProtocol();
}

bool Jail::IsWanted(const std::string& path) {
  if (!collecting_ || answered_.size() >= max_files_) return false;
  const bool asked = std::any_of(
      patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
        return path == pattern ||
               (StaysBelow(path) && policy::GlobMatch(pattern, path));
      });
  return asked && answered_.insert(path).second;
}

bool Jail::AdoptStreams(std::vector<os::Fd>& fds) {
  if (!IsPipeEnd(fds[0], O_WRONLY) || !IsPipeEnd(fds[1], O_RDONLY) ||
      !IsPipeEnd(fds[2], O_RDONLY)) {
    return false;
  }
  stdin_ = std::move(fds[0]);
  stdout_ = std::move(fds[1]);
  stderr_ = std::move(fds[2]);
  return true;
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextRunnerEvent() {
  if (user_code_) return NextReport();
  std::vector<os::Fd> refused;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(parts_.runner.get(), os::Wait::kNo, &refused);
  CloseAside(std::move(refused));
  if (absl::IsNotFound(packet.status())) return std::nullopt;
  if (absl::IsOutOfRange(packet.status())) return GoneEvent{};
  if (!packet.ok()) return BrokenProtocol();
  if (packet->lost_fds) return DescriptorsLost();
  absl::StatusOr<std::optional<JailEvent>> taken = HandleRunnerEvent(*packet);
  if (!taken.ok()) CloseAside(std::move(packet->fds));
  return taken;
}

absl::StatusOr<std::optional<JailEvent>> Jail::HandleRunnerEvent(
    os::Packet& packet) {
  RunnerEvent event = {};
  std::vector<os::Fd>& fds = packet.fds;
  if (packet.data.size() < sizeof(event)) return BrokenProtocol();
  packet.data.copy(reinterpret_cast<char*>(&event), sizeof(event));
  if (event.kind == RunnerEventKind::kFailed && fds.empty()) {
    if (std::exchange(failed_, true)) return BrokenProtocol();
    return FailedEvent{static_cast<SetupStep>(event.step), event.value};
  }
  if (event.kind == RunnerEventKind::kFacts && fds.empty() && report_.valid() &&
      look_ == Look::kAsked) {
    look_ = Look::kTold;
    return FactsEvent{packet.data.substr(sizeof(event))};
  }
  if (event.kind == RunnerEventKind::kStarted && fds.empty() && has_job_ &&
      report_.valid() && packet.data.size() == sizeof(event) &&
      look_ == Look::kNone) {
    user_code_ = true;
    parts_.runner.reset();
    return StartedEvent{event.nanoseconds};
  }
  if (event.kind == RunnerEventKind::kAsks && fds.size() == 1 &&
      sockets_ == nullptr && !report_.valid() && os::IsListener(fds[0])) {
    sockets_ = SocketWatch::Shared().Watch(std::move(fds[0]));
    // Without an answer its program would wait for ever.
    if (sockets_ == nullptr) return DescriptorsLost();
    return std::nullopt;
  }
  if (event.kind != RunnerEventKind::kReady || report_.valid() ||
      fds.size() != 4 || !AddSteps(packet, event, parts_.steps) ||
      !IsPipeEnd(fds[3], O_RDONLY) || !AdoptStreams(fds)) {
    return BrokenProtocol();
  }
  report_ = std::move(fds[3]);
  counters_.CpuTime(spent_user_, spent_system_);
  return MaybeReady();
}

JailEvent Jail::MaybeReady() const {
  if (is_ready()) return ReadyEvent{};
  return RaisedEvent{};
}

// What comes through this pipe may be the program's own: all that it can say is
// that it is over, and only once. Reading on would keep the reader busy for as
// long as the program writes.
absl::StatusOr<std::optional<JailEvent>> Jail::NextReport() {
  if (!report_.valid()) return std::nullopt;
  RunnerEvent event = {};
  const ssize_t size = os::ReadNow(
      report_.get(), reinterpret_cast<char*>(&event), sizeof(event));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  const os::Fd report = std::move(report_);
  if (size == sizeof(event) && event.kind == RunnerEventKind::kDone) {
    return DoneEvent{event.value & 0xff};
  }
  // Init or the spawner reports the end.
  return std::nullopt;
}

}  // namespace sandglass::sandbox
