#include "sandbox/jail/jail.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "internal/spawner.pb.h"
#include "sandbox/jail/backlog_bytes.h"
#include "sandbox/jail/jail_process.h"
#include "sandbox/jail/job_frame.h"
#include "sandbox/jail/lock_census.h"
#include "sandbox/jail/netlink_bytes.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/descriptor_room.h"
#include "sandbox/wire/runner_protocol.h"

namespace sandglass::sandbox {
namespace {

absl::Status Kill(const os::Fd& kill_file, const char* what) {
  // ENODEV: the group is gone, so there is nothing left to kill.
  if (::write(kill_file.get(), "1", 1) == 1 || errno == ENODEV) {
    return absl::OkStatus();
  }
  return os::ErrnoStatus("kill the ", what, " by its control group");
}

}  // namespace

Jail::Jail(Parts parts)
    : parts_(std::move(parts)),
      counters_(std::move(parts_.groups)),
      cpu_turn_(std::move(parts_.cpu_weight)),
      has_runner_(parts_.runner.valid()) {
  if (!memory_on_v1()) memory_events_ = counters_.Open("memory.events");
}

Jail::~Jail() {
  // ORDER: everything that still runs is killed before the network goes.
  // A session's jail has no pidfd; what init starts for a session doesn't ask.
  if (!KillJail().ok() || sockets_ == nullptr || !parts_.init_pidfd.valid() ||
      has_network() || !sockets_->EndUnused()) {
    return;
  }
  // ORDER: init, which was killed, doesn't read this any more. If it should, or
  // it can't be sent, the network isn't used again.
  internal::InitRequest request;
  request.mutable_network_unused();
  (void)os::SendPacket(parts_.control.get(), request.SerializeAsString(), {},
                       os::Wait::kNo);
}

void Jail::SetNetwork(std::unique_ptr<NetworkLease> network) {
  network_ = std::move(network);
}

std::optional<NetworkUse> Jail::ReadNetworkUse() const {
  if (network_ == nullptr) return std::nullopt;
  absl::StatusOr<NetworkUse> use = network_->Use();
  if (!use.ok()) return std::nullopt;
  return *std::move(use);
}

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
  has_job_ = true;
  if (prestarted_) {
    counters_.CpuTime(spent_user_, spent_system_);
    waiting_ = counters_.RunList();
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
  has_job_ = true;
  waiting_ = counters_.RunList();
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
    const RunnerFile entry = {file.content.size(), file.mode,
                              file.look_at ? 1u : 0u};
    if (file.look_at) look_ = Look::kAsked;
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

absl::Status Jail::LetStart(bool took_long) {
  if (took_long) counters_.CpuTime(spent_user_, spent_system_);
  absl::Status sent =
      os::SendPacket(parts_.runner.get(), "1", {}, os::Wait::kNo);
  if (!sent.ok()) return sent;
  user_code_ = true;
  parts_.runner.reset();
  return absl::OkStatus();
}

absl::Status Jail::CollectFiles(const std::vector<std::string>& patterns,
                                uint32_t max_files) {
  internal::InitRequest request;
  for (const std::string& pattern : patterns) {
    request.mutable_collect()->add_patterns(pattern);
  }
  request.mutable_collect()->set_max_files(max_files);
  collecting_ = true;
  patterns_ = patterns;
  // A pattern that matches nothing is answered by its own text.
  max_files_ = max_files + patterns.size();
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
  const ssize_t size = os::ReadNow(stdout_.get(), text, sizeof(text));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  // Init reports how it ended.
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

bool Jail::WaitsQuietly() const {
  struct pollfd fds[] = {
      {parts_.init_pidfd.get(), POLLIN, 0}, {parts_.control.get(), POLLIN, 0},
      {parts_.runner.get(), POLLIN, 0},     {report_.get(), POLLIN, 0},
      {stdout_.get(), POLLIN, 0},           {stderr_.get(), POLLIN, 0}};
  return ::poll(fds, std::size(fds), 0) == 0;
}

absl::Status Jail::KillRun() { return Kill(parts_.kill_run, "run"); }
absl::Status Jail::KillRunByPid() {
  internal::InitRequest request;
  request.mutable_kill();
  return os::SendPacket(parts_.control.get(), request.SerializeAsString(), {},
                        os::Wait::kNo);
}

absl::Status Jail::KillJail() { return Kill(parts_.kill_jail, "jail"); }

void Jail::EndNamespace() { (void)::shutdown(parts_.control.get(), SHUT_WR); }

void Jail::BecomeSessions() {
  init_ = FindProcess(parts_.init_pidfd);
  parts_.init_pidfd.reset();
  parts_.oom_event.reset();
  memory_events_.reset();
  counters_.Settle(KeptSessions(MaxDescriptors()));
  if (counters_.opens_late()) parts_.run_events.reset();
}

std::optional<uint64_t> Jail::RunEvent(absl::string_view key) const {
  const os::Fd late = parts_.run_events.valid()
                          ? os::Fd()
                          : counters_.Open("run/cgroup.events");
  // Read through the watched descriptor where there is one, because reading is
  // what re-arms its POLLPRI.
  const os::Fd& events = late.valid() ? late : parts_.run_events;
  char text[256];
  const ssize_t size = ::pread(events.get(), text, sizeof(text), 0);
  if (size <= 0) return std::nullopt;
  return os::FindKey({text, static_cast<size_t>(size)}, key);
}

bool Jail::RunIsEmpty() const {
  // A failed read counts as empty (ENODEV: the group is gone).
  return RunEvent("populated").value_or(0) == 0;
}

bool Jail::SawOomKill() const { return counters_.OomKills() > 0; }

uint32_t Jail::LivingProcesses() const {
  return static_cast<uint32_t>(counters_.RunProcesses());
}

uint32_t Jail::ProcessCount() const {
  const uint64_t count = counters_.Processes();
  return count > 0 ? static_cast<uint32_t>(count - 1) : 0;  // without init
}

bool Jail::RunIsOneProcess() const {
  const uint32_t count = has_runner() ? ProcessCount() : 1;
  if (count != 1) return count == 0;
  // It may have ended by now, and the one process may be another.
  return !waiting_.empty() && counters_.RunList() == waiting_;
}

std::optional<uint32_t> Jail::PeakProcesses() const {
  return counters_.PeakProcesses();
}

JailCounters Jail::ReadCounters() const {
  JailCounters result = counters_.Read();
  result.cpu_user -= spent_user_;
  result.cpu_system -= spent_system_;
  return result;
}

MemorySample Jail::SampleMemory() const { return counters_.Memory(); }

policy::UnchargedMemory Jail::ReadUncharged() const {
  policy::UnchargedMemory memory;
  memory.netlink_bytes =
      NetlinkBytes(parts_.netlink_sockets, policy::kMaxNetlinkBytes);
  const JailProcess init =
      init_.pid > 0 ? init_ : FindProcess(parts_.init_pidfd);
  memory.backlog_bytes = BacklogBytes(init, policy::kMaxBacklogBytes);
  const LockCensus& locks = LockCensus::Shared();
  if (locks.many() && IsStill(init)) {
    memory.lock_bytes = locks.BytesOf(init.group);
  }
  return memory;
}

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
