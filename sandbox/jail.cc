#include "sandbox/jail.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/jailed/runner_protocol.h"
#include "sandbox/job_frame.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

// Each step comes once, some a second time: with an interpreter that waits.
constexpr size_t kMostSteps = 3 * size_t{kSetupStepCount};
// Of a jail's whole life there are half as many.
constexpr int kMostInitEvents = 16;

absl::Status Kill(const os::Fd& kill_file, const char* what) {
  // ENODEV: the group is gone, so nothing is left to kill.
  if (::write(kill_file.get(), "1", 1) == 1 || errno == ENODEV) {
    return absl::OkStatus();
  }
  return os::ErrnoStatus("kill the ", what, " by its control group");
}

uint64_t CeilSeconds(absl::Duration duration) {
  return static_cast<uint64_t>(std::ceil(absl::ToDoubleSeconds(duration)));
}

bool AddSteps(
    const google::protobuf::RepeatedPtrField<internal::StepTime>& from,
    std::vector<StepTiming>& to) {
  return std::all_of(from.begin(), from.end(),
                     [&](const internal::StepTime& step) {
                       return AddStep(step.step(), step.nanoseconds(), to);
                     });
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

absl::Status Broken() { return absl::InternalError("init broke the protocol"); }

}  // namespace

bool AddStep(int64_t step, uint64_t nanoseconds,
             std::vector<StepTiming>& steps) {
  if (step < 0 || step >= kSetupStepCount || steps.size() >= kMostSteps ||
      nanoseconds > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return false;
  }
  steps.push_back({static_cast<SetupStep>(step),
                   absl::Nanoseconds(static_cast<int64_t>(nanoseconds))});
  return true;
}

Jail::Jail(Parts parts)
    : parts_(std::move(parts)),
      counters_(parts_.groups),
      has_runner_(parts_.runner.valid()),
      events_left_(kMostInitEvents) {
  if (!memory_on_v1()) {
    memory_events_.reset(::openat(parts_.groups.v2.get(), "memory.events",
                                  O_RDONLY | O_CLOEXEC));
  }
  // Their counters are open now.
  parts_.groups = CounterGroups();
}

Jail::~Jail() { (void)KillJail(); }

absl::Status Jail::StartProgram(const ProgramSpec& program) {
  if (has_runner()) return StartInRunner(program);
  internal::InitRequest request;
  internal::StartProgram* start = request.mutable_start();
  for (const std::string& argument : program.argv) start->add_argv(argument);
  for (const std::string& entry : program.env) start->add_env(entry);
  absl::StatusOr<os::Fd> content = os::MakeMemfd("content", "");
  if (!content.ok()) return content.status();
  std::vector<int> fds = {content->get()};
  for (const ProgramSpec::File& file : program.files) {
    internal::StagedFile* staged = start->add_files();
    staged->set_path(std::string(file.path));
    staged->set_size(file.content.size());
    staged->set_mode(file.mode);
    if (file.sealed >= 0 && fds.size() < os::kMaxPacketFds) {
      staged->set_shared(true);
      fds.push_back(file.sealed);
    } else if (!os::WriteAll(content->get(), file.content)) {
      return os::ErrnoStatus("write contents for the jail");
    }
  }
  if (::lseek(content->get(), 0, SEEK_SET) != 0) {
    return os::ErrnoStatus("lseek");
  }
  start->set_with_stdin(program.with_stdin);
  start->set_open_files(program.open_files);
  start->set_file_size_bytes(program.file_size_bytes);
  if (prestarted_) {
    has_job_ = true;
    counters_.CpuTime(spent_user_, spent_system_);
  }
  start->set_cpu_seconds(
      CeilSeconds(program.cpu_time + spent_user_ + spent_system_));
  return os::SendPacket(parts_.control.get(), request.SerializeAsString(), fds,
                        os::Wait::kNo);
}

absl::Status Jail::Prestart(const ProgramSpec& interpreter) {
  internal::InitRequest request;
  internal::Prestart* start = request.mutable_prestart();
  for (const std::string& word : interpreter.argv) start->add_argv(word);
  for (const std::string& entry : interpreter.env) start->add_env(entry);
  prestarted_ = true;
  return os::SendPacket(parts_.control.get(), request.SerializeAsString(), {},
                        os::Wait::kNo);
}

absl::Status Jail::StartInRunner(const ProgramSpec& program) {
  RunnerJob job = {};
  job.argument_count = static_cast<uint32_t>(program.argv.size());
  job.environment_count = static_cast<uint32_t>(program.env.size());
  job.file_count = static_cast<uint32_t>(program.files.size());
  job.with_stdin = program.with_stdin ? 1 : 0;
  job.open_files = program.open_files;
  job.file_size_bytes = program.file_size_bytes;
  job.cpu_seconds = CeilSeconds(program.cpu_time);
  std::string text;
  const auto add = [&](absl::string_view word) {
    absl::StrAppend(&text, word, absl::string_view("\0", 1));
  };
  for (const std::string& argument : program.argv) add(argument);
  for (const std::string& entry : program.env) add(entry);
  for (const ProgramSpec::File& file : program.files) add(file.path);
  uint64_t size = text.size();
  for (const ProgramSpec::File& file : program.files) {
    const RunnerFile entry = {file.content.size(), file.mode};
    text.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
    size += sizeof(entry) + file.content.size();
  }
  const absl::string_view header(reinterpret_cast<const char*>(&job),
                                 sizeof(job));
  if (size <= kMaxInlineJob) {
    text.insert(0, header.data(), header.size());
    for (const ProgramSpec::File& file : program.files) {
      absl::StrAppend(&text, file.content);
    }
    return os::SendPacket(parts_.runner.get(), text, {}, os::Wait::kNo);
  }
  absl::StatusOr<os::Fd> whole = os::MakeMemfd("job", text);
  if (!whole.ok()) return whole.status();
  if (::lseek(whole->get(), 0, SEEK_END) < 0) return os::ErrnoStatus("lseek");
  for (const ProgramSpec::File& file : program.files) {
    if (!os::WriteAll(whole->get(), file.content)) {
      return os::ErrnoStatus("write contents for the jail");
    }
  }
  return os::SendPacket(parts_.runner.get(), header, {whole->get()},
                        os::Wait::kNo);
}

absl::Status Jail::CollectFiles(const std::vector<std::string>& patterns,
                                uint32_t max_files) {
  internal::InitRequest request;
  for (const std::string& pattern : patterns) {
    request.mutable_collect()->add_patterns(pattern);
  }
  request.mutable_collect()->set_max_files(max_files);
  // And a word on each pattern that nothing matches.
  files_due_ += uint64_t{max_files} + patterns.size();
  return os::SendPacket(parts_.control.get(), request.SerializeAsString(), {},
                        os::Wait::kNo);
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextEvent() {
  if (has_runner()) {
    absl::StatusOr<std::optional<JailEvent>> event = NextRunnerEvent();
    if (!event.ok() || event->has_value()) return event;
  }
  if (prestarted_ && !waits_) {
    absl::StatusOr<std::optional<JailEvent>> event = NextWord();
    if (!event.ok() || event->has_value()) return event;
  }
  return NextControlEvent();
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextWord() {
  char text[256];
  const ssize_t size = ::read(stdout_.get(), text, sizeof(text));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  // Init tells how it ended.
  if (size <= 0) return std::nullopt;
  said_.append(text, static_cast<size_t>(size));
  const std::string word = absl::StrCat(kWaitingWord, "\n");
  if (said_ == word) {
    waits_ = true;
    return WaitsEvent{};
  }
  if (absl::StartsWith(word, said_)) return std::nullopt;
  return absl::InternalError(
      absl::StrCat("the interpreter was to wait and said \"",
                   absl::CHexEscape(said_.substr(0, 200)), "\""));
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextControlEvent() {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(parts_.control.get(), os::Wait::kNo);
  if (absl::IsNotFound(packet.status())) return std::nullopt;
  if (absl::IsOutOfRange(packet.status())) return GoneEvent{};
  if (!packet.ok()) return packet.status();
  internal::InitEvent event;
  if (!event.ParseFromString(packet->data)) return Broken();
  // A taken-over init could go on for ever, and its reader with it.
  if (!event.has_file() && events_left_-- <= 0) return Broken();
  std::vector<os::Fd>& fds = packet->fds;
  switch (event.event_case()) {
    case internal::InitEvent::kReady:
      if (fds.size() != 5) return Broken();
      tmp_fs_ = std::move(fds[3]);
      workspace_fs_ = std::move(fds[4]);
      if (!AddSteps(event.ready().steps(), parts_.steps)) return Broken();
      // A runner brings streams of its own.
      if (!has_runner()) {
        stdin_ = std::move(fds[0]);
        stdout_ = std::move(fds[1]);
        stderr_ = std::move(fds[2]);
      }
      return MaybeReady();
    case internal::InitEvent::kRaised:
      if (!AddSteps(event.raised().steps(), parts_.steps)) return Broken();
      return RaisedEvent{};
    case internal::InitEvent::kFailed:
      return FailedEvent{static_cast<SetupStep>(event.failed().step()),
                         event.failed().error()};
    case internal::InitEvent::kStarted:
      if (!AddSteps(event.started().steps(), parts_.steps)) return Broken();
      // The interpreter's own start.
      if (prestarted_ && !has_job_) return std::nullopt;
      started_ = true;
      return StartedEvent{event.started().monotonic_ns()};
    case internal::InitEvent::kExited:
      if (prestarted_ && !started_) return GoneEvent{};
      return ExitedEvent{event.exited().wait_status(),
                         event.exited().monotonic_ns()};
    case internal::InitEvent::kFile: {
      const auto problem = static_cast<FileProblem>(event.file().problem());
      if (files_due_ == 0 || problem < FileProblem::kNone ||
          problem > FileProblem::kNotRegular) {
        return Broken();
      }
      --files_due_;
      if (fds.size() != (problem == FileProblem::kNone ? 1 : 0)) {
        return Broken();
      }
      return FileEvent{event.file().path(), problem,
                       fds.empty() ? os::Fd() : std::move(fds[0])};
    }
    case internal::InitEvent::kCollectDone:
      return CollectDoneEvent{event.collect_done().truncated()};
    case internal::InitEvent::EVENT_NOT_SET:
      break;
  }
  return Broken();
}

absl::StatusOr<std::optional<JailEvent>> Jail::NextRunnerEvent() {
  if (report_.valid()) return NextReport();
  if (!parts_.runner.valid()) return std::nullopt;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(parts_.runner.get(), os::Wait::kNo);
  if (absl::IsNotFound(packet.status())) return std::nullopt;
  if (absl::IsOutOfRange(packet.status())) return GoneEvent{};
  if (!packet.ok()) return packet.status();
  RunnerEvent event = {};
  if (packet->data.size() < sizeof(event)) return Broken();
  packet->data.copy(reinterpret_cast<char*>(&event), sizeof(event));
  if (event.kind == RunnerEventKind::kFailed) {
    return FailedEvent{static_cast<SetupStep>(event.step), event.value};
  }
  if (event.kind != RunnerEventKind::kReady || packet->fds.size() != 4 ||
      !AddSteps(*packet, event, parts_.steps)) {
    return Broken();
  }
  stdin_ = std::move(packet->fds[0]);
  stdout_ = std::move(packet->fds[1]);
  stderr_ = std::move(packet->fds[2]);
  report_ = std::move(packet->fds[3]);
  counters_.CpuTime(spent_user_, spent_system_);
  return MaybeReady();
}

JailEvent Jail::MaybeReady() const {
  if (is_ready()) return ReadyEvent{};
  return RaisedEvent{};
}

// Once a user's code runs, what comes here may be its own: all it can say is
// that it is over, and that once. Read on, it would hold its reader up for as
// long as it writes.
absl::StatusOr<std::optional<JailEvent>> Jail::NextReport() {
  RunnerEvent event = {};
  const ssize_t size = ::read(report_.get(), &event, sizeof(event));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  const bool whole = size == sizeof(event);
  if (user_code_ || size <= 0) {
    report_.reset();
    parts_.runner.reset();
    if (!user_code_) return GoneEvent{};
    if (whole && event.kind == RunnerEventKind::kDone) {
      return DoneEvent{event.value & 0xff, event.nanoseconds};
    }
    // Init or the spawner tells the end.
    return std::nullopt;
  }
  if (whole && event.kind == RunnerEventKind::kStarted) {
    user_code_ = true;
    return StartedEvent{event.nanoseconds};
  }
  if (whole && event.kind == RunnerEventKind::kFailed) {
    return FailedEvent{static_cast<SetupStep>(event.step), event.value};
  }
  return Broken();
}

bool Jail::WaitsQuietly() const {
  struct pollfd fds[] = {
      {parts_.init_pidfd.get(), POLLIN, 0}, {parts_.control.get(), POLLIN, 0},
      {parts_.runner.get(), POLLIN, 0},     {report_.get(), POLLIN, 0},
      {stdout_.get(), POLLIN, 0},           {stderr_.get(), POLLIN, 0}};
  return ::poll(fds, std::size(fds), 0) == 0;
}

absl::Status Jail::KillRun() { return Kill(parts_.kill_run, "run"); }
absl::Status Jail::KillJail() { return Kill(parts_.kill_jail, "jail"); }

bool Jail::RunIsEmpty() const {
  // Read through the watched descriptor: reading is what re-arms its POLLPRI.
  char text[256];
  const ssize_t size = ::pread(parts_.run_events.get(), text, sizeof(text), 0);
  // ENODEV: the group is gone.
  if (size <= 0) return true;
  return os::FindKey({text, static_cast<size_t>(size)}, "populated")
             .value_or(0) == 0;
}

bool Jail::SawOomKill() const { return counters_.OomKills() > 0; }

uint32_t Jail::ProcessCount() const {
  const uint64_t count = counters_.Processes();
  return count > 0 ? static_cast<uint32_t>(count - 1) : 0;  // without init
}

bool Jail::RunIsOneProcess() const {
  if (has_runner()) return ProcessCount() <= 1;
  return counters_.RunProcesses() == 1;
}

std::optional<uint32_t> Jail::PeakProcesses() const {
  const std::optional<uint64_t> peak = counters_.PeakProcesses();
  if (!peak.has_value()) return std::nullopt;
  return static_cast<uint32_t>(*peak > 0 ? *peak - 1 : 0);
}

JailCounters Jail::ReadCounters() const {
  JailCounters result = counters_.Read();
  result.cpu_user -= spent_user_;
  result.cpu_system -= spent_system_;
  return result;
}

MemorySample Jail::SampleMemory() const { return counters_.Memory(); }

std::vector<policy::FilesystemFill> Jail::FilesystemFills() const {
  std::vector<policy::FilesystemFill> fills;
  for (const auto& [fd, kind] :
       {std::pair(&tmp_fs_, policy::LimitKind::kTmpBytes),
        std::pair(&workspace_fs_, policy::LimitKind::kWorkspaceBytes)}) {
    struct statfs info = {};
    if (!fd->valid() || ::fstatfs(fd->get(), &info) != 0) continue;
    const auto block = static_cast<uint64_t>(info.f_bsize);
    fills.push_back({kind, info.f_blocks * block, info.f_bavail * block,
                     info.f_files, info.f_ffree});
  }
  return fills;
}

int Jail::oom_fd() const {
  return memory_on_v1() ? parts_.oom_event.get() : memory_events_.get();
}

short Jail::oom_poll_events() const {
  return memory_on_v1() ? POLLIN : POLLPRI;
}

void Jail::AcknowledgeOom() const {
  char buffer[256];
  if (memory_on_v1()) {
    (void)!::read(parts_.oom_event.get(), buffer, sizeof(uint64_t));
  } else {
    (void)!::pread(memory_events_.get(), buffer, sizeof(buffer), 0);
  }
}

}  // namespace sandglass::sandbox
