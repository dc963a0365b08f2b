#include "server/session/hosted_jail.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"

namespace sandglass::server {
namespace {

constexpr int kMaxEventsAtOnce = 64;

}  // namespace

absl::Status HostedJail::Freeze(bool frozen) {
  absl::MutexLock lock(&mutex_);
  if (!Lives() || frozen == frozen_) return absl::OkStatus();
  if (absl::Status done = jail_->Freeze(frozen); !done.ok()) return done;
  frozen_ = frozen;
  for (const auto& [process, take] : commands_) take(JailFroze{frozen});
  return absl::OkStatus();
}

void HostedJail::EndJail(const std::string& why) {
  absl::MutexLock lock(&mutex_);
  if (!Lives()) return;
  // If that doesn't reach init either, the jail ends when it is released.
  (void)jail_->jail().KillJail();
  Die(why);
}

void HostedJail::End() {
  absl::MutexLock lock(&mutex_);
  ended_ = true;
  if (jail_ == nullptr) return;
  (void)jail_->jail().KillJail();
  // Others may still hold the session, but they don't keep its libraries in
  // use.
  jail_->jail().Hold(nullptr);
}

uint64_t HostedJail::MemoryBytes() const {
  absl::MutexLock lock(&mutex_);
  if (!Lives()) return 0;
  const sandbox::MemorySample sample = jail_->jail().SampleMemory();
  return sample.anonymous_bytes + sample.shared_bytes;
}

void HostedJail::Put(std::unique_ptr<sandbox::Jail> jail) {
  jail_ = std::make_shared<sandbox::SessionJail>(std::move(jail));
}

void HostedJail::Discard() {
  (void)jail_->jail().KillJail();
  jail_.reset();
  death_.clear();
  filled_ = false;
  frozen_ = false;
  files_due_ = 0;
  files_told_ = {};
  processes_.clear();
}

absl::Status HostedJail::StartCommand(const sandbox::ProcessSpec& spec,
                                      ProcessNewsHandler take) {
  if (ended_) return absl::CancelledError("the session has ended");
  if (jail_ == nullptr) return absl::InternalError("there is no jail");
  if (!death_.empty()) return absl::InternalError(death_);
  const uint64_t process = NextProcess();
  if (absl::Status asked = jail_->Spawn(process, spec); !asked.ok()) {
    return asked;
  }
  commands_[process] = std::move(take);
  return absl::OkStatus();
}

absl::Status HostedJail::OpenFiles() {
  absl::Status sent = jail_->OpenFiles();
  if (sent.ok()) ++files_due_;
  return sent;
}

void HostedJail::Pump() {
  for (int i = 0; i < kMaxEventsAtOnce && Lives(); ++i) {
    absl::StatusOr<std::optional<sandbox::SessionEvent>> event =
        jail_->NextEvent();
    if (!event.ok()) {
      (void)jail_->jail().KillJail();
      return Die(std::string(event.status().message()));
    }
    if (!event->has_value()) return;
    Handle(**event);
  }
}

void HostedJail::Handle(sandbox::SessionEvent& event) {
  if (auto* spawned = std::get_if<sandbox::SpawnedEvent>(&event)) {
    if (const auto command = commands_.find(spawned->id);
        command != commands_.end()) {
      return command->second(std::move(*spawned));
    }
    Process& process = processes_[spawned->id];
    process.spawned = std::move(*spawned);
    process.stage = Process::Stage::kRunning;
  } else if (const auto* failed =
                 std::get_if<sandbox::SpawnFailedEvent>(&event)) {
    if (EndCommand(failed->id, *failed)) return;
    Process& process = processes_[failed->id];
    process.failed = *failed;
    process.stage = Process::Stage::kFailed;
  } else if (const auto* ended =
                 std::get_if<sandbox::ProcessExitedEvent>(&event)) {
    if (denied_ != nullptr) denied_->Record(source_, ended->refused);
    if (EndCommand(ended->id, *ended)) return;
    // A process that was given up may be forgotten by now.
    if (const auto it = processes_.find(ended->id); it != processes_.end()) {
      it->second.wait_status = ended->wait_status;
      it->second.stage = Process::Stage::kEnded;
    }
  } else if (const auto* exited = std::get_if<sandbox::ExitedEvent>(&event)) {
    if (denied_ != nullptr) denied_->Record(source_, exited->refused);
    processes_[kMainProcess].wait_status = exited->wait_status;
    processes_[kMainProcess].stage = Process::Stage::kEnded;
  } else if (auto* files = std::get_if<sandbox::FileChannelEvent>(&event)) {
    files_told_ = std::move(*files);
    --files_due_;
  } else if (std::holds_alternative<sandbox::GoneEvent>(event)) {
    Die(jail_->jail().SawOomKill()
            ? "the kernel's out-of-memory killer took its jail's init"
            : "its jail's init died");
  }
}

bool HostedJail::EndCommand(uint64_t process, ProcessNews news) {
  const auto command = commands_.extract(process);
  if (command.empty()) return false;
  command.mapped()(std::move(news));
  return true;
}

void HostedJail::Die(std::string how) {
  death_ = std::move(how);
  const bool out_of_memory = jail_->jail().SawOomKill();
  for (const auto& [process, take] : commands_) {
    take(JailDied{death_, out_of_memory});
  }
  commands_.clear();
}

}  // namespace sandglass::server
