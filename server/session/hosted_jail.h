#ifndef SANDGLASS_SERVER_SESSION_HOSTED_JAIL_H_
#define SANDGLASS_SERVER_SESSION_HOSTED_JAIL_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/jail/session_jail.h"
#include "server/job/refused_calls.h"

namespace sandglass::server {

// The jail's processes were stopped, or go on again.
struct JailFroze {
  bool frozen;
};
// The jail is dead; says how it died. Nothing follows.
struct JailDied {
  std::string how;
  bool out_of_memory;
};
using ProcessNews =
    std::variant<sandbox::SpawnedEvent, sandbox::SpawnFailedEvent,
                 sandbox::ProcessExitedEvent, JailFroze, JailDied>;
// Called on any thread, under HostedJail::mutex, so it may only store what it
// gets.
using ProcessNewsHandler = std::function<void(ProcessNews)>;

// The jail of a session, while it has one, and all that the jail's init
// reports: events are read here only. The parts of JailHost share it, and its
// lock, since they change together with the jail. Thread-safe; nothing blocks,
// but to release a jail that has a network takes an answer of the egress proxy.
class HostedJail {
 public:
  // The number of the jail's own program, which is a zygote's child.
  static constexpr uint64_t kMainProcess = 0;

  // How far a process that isn't a command's got, and how it ended.
  struct Process {
    enum class Stage { kAsked, kFailed, kRunning, kEnded };
    Stage stage = Stage::kAsked;
    int wait_status = 0;
    sandbox::SpawnedEvent spawned;
    sandbox::SpawnFailedEvent failed;
  };

  // `denied` outlives this object; null when calls aren't traced. Refused calls
  // are noted there as those of `source`.
  HostedJail(RefusedCallLog* denied, const RefusedCallLog::Source& source)
      : denied_(denied), source_(source) {}

  // Held so that init is asked for no kernel or program while a fork stops all
  // processes. (SessionJail refuses commands meanwhile.)
  absl::Mutex& forking() ABSL_LOCK_RETURNED(forking_) { return forking_; }
  // For everything that changes together with the jail.
  absl::Mutex& mutex() const ABSL_LOCK_RETURNED(mutex_) { return mutex_; }

  // As SessionHost and JailKernels say.
  absl::Status Freeze(bool frozen) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndJail(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t MemoryBytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Null when there is no jail. A dead one stays until it is discarded. A
  // thread that reads its counters may hold it a moment longer.
  const std::shared_ptr<sandbox::SessionJail>& get() const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return jail_;
  }
  bool Lives() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return jail_ != nullptr && death_.empty();
  }
  // How the jail died; empty while it lives or there is none.
  const std::string& death() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return death_;
  }
  // Whether the session has ended: it gets no jail any more.
  bool ended() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ended_; }
  // Whether commands can be started in it: its files are there, and it isn't
  // frozen.
  bool TakesCommands() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return Lives() && filled_ && !frozen_;
  }

  // Handles the events that init has sent.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Precondition: there is no jail.
  void Put(std::unique_ptr<sandbox::Jail> jail)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Says whether the files that were kept of the session are in the jail.
  void SetFilled(bool filled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    filled_ = filled;
  }
  // Releases the jail. Precondition: there is one.
  void Discard() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A number for another process; none is used twice.
  uint64_t NextProcess() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return next_process_++;
  }
  // What is known of a process; one that nothing is known of was only asked
  // for.
  Process& process(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return processes_[number];
  }
  void ForgetProcess(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    processes_.erase(number);
  }
  // As JailProcesses::StartProcess.
  absl::Status StartCommand(const sandbox::ProcessSpec& spec,
                            ProcessNewsHandler take)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Asks init for a file agent. Precondition: the jail lives.
  absl::Status OpenFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many file agents init still has to give us, …
  int files_due() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return files_due_;
  }
  // … and its last answer.
  sandbox::FileChannelEvent& files_told()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return files_told_;
  }

 private:
  void Handle(sandbox::SessionEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Passes on the last news about a process if it is a command's; otherwise
  // returns false.
  bool EndCommand(uint64_t process, ProcessNews news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Die(std::string how) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RefusedCallLog* const denied_;
  const RefusedCallLog::Source source_;

  absl::Mutex forking_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::shared_ptr<sandbox::SessionJail> jail_ ABSL_GUARDED_BY(mutex_);
  std::string death_ ABSL_GUARDED_BY(mutex_);
  bool filled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_process_ ABSL_GUARDED_BY(mutex_) = kMainProcess + 1;
  std::map<uint64_t, Process> processes_ ABSL_GUARDED_BY(mutex_);
  // By process: the receivers of news about commands' processes.
  std::map<uint64_t, ProcessNewsHandler> commands_ ABSL_GUARDED_BY(mutex_);
  int files_due_ ABSL_GUARDED_BY(mutex_) = 0;
  sandbox::FileChannelEvent files_told_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_HOSTED_JAIL_H_
