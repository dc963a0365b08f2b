#ifndef SANDGLASS_SERVER_SESSION_JAIL_HOST_H_
#define SANDGLASS_SERVER_SESSION_JAIL_HOST_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/jail/session_jail.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/cancel_token.h"
#include "server/job/refused_calls.h"
#include "server/layers/library_request.h"
#include "server/pool/jail_pool.h"
#include "server/session/durable_files.h"
#include "server/session/file_archive.h"
#include "server/session/kernel.h"
#include "server/session/process_host.h"
#include "server/session/session_copy.h"
#include "server/session/session_host.h"

namespace sandglass::server {

struct JailHostParts {
  sandbox::Sandbox* sandbox = nullptr;
  JailPool* pool = nullptr;
  // Whether what a language's kernel is started from is there.
  std::function<absl::Status(const policy::Language&)> prepared;
  LibraryFinder* libraries = nullptr;  // null: none can be had
  // For files of forks that wait for their first use.
  std::shared_ptr<DiskBudget> fork_memory;
  DeniedCalls* denied = nullptr;  // null: calls aren't traced
};

// A session on a jail of this machine. The jail comes with the first use: for
// the default kernel an idle one in which a zygote's child waits, so that it is
// there at once.
class JailHost final : public SessionHost,
                       public KernelKeeper,
                       public ProcessHost {
 public:
  // What `parts` points to outlives it.
  JailHost(const JailHostParts& parts, const SessionSpec& spec,
           const SessionOrigin& origin = {});

  absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                    JobObserver* observer) override;
  bool Interrupt(const std::string& context) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EndKernel(const std::string& context, const std::string& why) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> Files(CancelToken& cancel)
      override ABSL_LOCKS_EXCLUDED(attaching_, opening_, mutex_);
  void ForgetFiles(const sandbox::FileAgent& agent) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Save() override
      ABSL_LOCKS_EXCLUDED(saves_, keeping_, attaching_, opening_, mutex_);
  absl::StatusOr<std::shared_ptr<const FileArchive>> Fork(CancelToken& cancel)
      override ABSL_LOCKS_EXCLUDED(forking_, saves_, keeping_, attaching_,
                                   opening_, mutex_);
  absl::Status Freeze(bool frozen) override ABSL_LOCKS_EXCLUDED(mutex_);
  ProcessHost* processes() override { return this; }
  void End() override ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<KernelStatus> Kernels() const override
      ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t MemoryBytes() const override ABSL_LOCKS_EXCLUDED(mutex_);
  std::string LayerId() const override ABSL_LOCKS_EXCLUDED(mutex_);
  std::string Death() const override ABSL_LOCKS_EXCLUDED(mutex_);

  // For the run that goes on in a kernel.
  Fate Look(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Signal(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Kill(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(mutex_);
  void EndJail(const std::string& why) override ABSL_LOCKS_EXCLUDED(mutex_);

  // For commands.
  absl::Status Attach(CancelToken& cancel) override
      ABSL_LOCKS_EXCLUDED(forking_, attaching_, mutex_);
  bool IsAttached() const override ABSL_LOCKS_EXCLUDED(mutex_);
  os::Fd NewsFd() const override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                            TakeProcessNews take) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeNews() override ABSL_LOCKS_EXCLUDED(mutex_);
  void SignalProcess(pid_t pid, int signal, bool to_group) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void KillProcess(uint64_t id) override ABSL_LOCKS_EXCLUDED(mutex_);
  JailFacts Facts() const override ABSL_LOCKS_EXCLUDED(mutex_);
  policy::UnchargedMemory ReadUncharged() const override;

 private:
  // The jail's own program: a zygote's child.
  static constexpr uint64_t kMainProcess = 0;

  // How a kernel stands, for all threads; the Kernel itself is its run's.
  struct Place {
    std::unique_ptr<Kernel> kernel;  // there since the first start
    KernelStatus status;
    bool started = false;
    std::string why_ended;  // to be told with the next start
  };

  // What a jail comes for. The default kernel, if it comes with the jail, is
  // `context`'s; `code` is its first cell.
  struct FirstUse {
    std::string context;
    std::string code;
    JobObserver* observer = nullptr;     // of an install; may be null
    const SessionSpec* guest = nullptr;  // as in Job
  };
  // What a run is to be like: the session's, or a guest's.
  const SessionSpec& SpecOf(const Job& job) const {
    return job.guest == nullptr ? spec_ : *job.guest;
  }
  absl::Status Attach(const FirstUse& use, CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(attaching_, opening_, keeping_, mutex_);
  absl::Status AttachNew(const FirstUse& use, CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives `start` the session's libraries, for a jail that is to come.
  absl::Status TakeLibraries(const FirstUse& use, CancelToken& cancel,
                             Job& start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts the files there are into a jail that has just come.
  absl::Status Fill(CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(opening_, keeping_, mutex_);
  // A jail that has died can be followed by another: the copy has its files.
  bool CanFollow() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Lets go of the jail. Kernels that had a state lost it, and `why`; an empty
  // one: none had.
  void Discard(const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(opening_, mutex_);
  absl::Status SaveNow()
      ABSL_LOCKS_EXCLUDED(keeping_, attaching_, opening_, mutex_);
  absl::Status AwaitFrozen(CancelToken& cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> OpenFiles(
      CancelToken& cancel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(opening_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> TakeJail(const Job& start,
                                                          Timings& timings);
  // The context's kernel, started when there is none. `state_lost` tells why
  // the one before went.
  absl::StatusOr<Kernel*> Ready(const Job& job, CancelToken& cancel,
                                JobObserver* observer, std::string& state_lost)
      ABSL_LOCKS_EXCLUDED(attaching_, mutex_);
  absl::Status StartKernel(const Job& job, CancelToken& cancel, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A process of the kernel's number, until it has been started.
  absl::Status Spawn(const sandbox::ProcessSpec& spec, CancelToken& cancel,
                     int64_t deadline, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One run of a language that has no kernel: its program, in this jail.
  absl::StatusOr<JobResult> RunProgram(const Job& job, CancelToken& cancel,
                                       JobObserver* observer)
      ABSL_LOCKS_EXCLUDED(attaching_, opening_, mutex_);
  Kernel& BeginProgram(const std::string& context) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<JobResult> RunStaged(const Job& job,
                                      const std::string& directory,
                                      sandbox::FileAgent& files, Kernel& kernel,
                                      CancelToken& cancel,
                                      JobObserver* observer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void SignalLocked(const Kernel& kernel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KillLocked(const Kernel& kernel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until the kernel that init started says that it is ready; its start is none
  // of a cell's time.
  static absl::Status AwaitReady(Kernel& kernel, CancelToken& cancel,
                                 int64_t deadline);
  // Takes what init has to say.
  void Pump() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a process that has ended.
  void NoteDenied(const sandbox::SessionEvent& event) const;
  void Take(sandbox::SessionEvent& event) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True when it is of a command's process, which is told of it.
  bool TakeForCommand(sandbox::SessionEvent& event) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCommands(const std::function<ProcessNews()>& news) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Die(std::string how) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool JailLives() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return jail_ != nullptr && death_.empty();
  }

  const JailHostParts parts_;
  const SessionSpec spec_;
  const JailLayer layer_;  // that it was made with; else without an id

  // Nothing is asked of init while all stands still for a fork.
  absl::Mutex forking_;
  // Of calls to Save at once one does it for all; see there.
  absl::Mutex saves_;
  absl::CondVar save_over_;
  bool saving_ ABSL_GUARDED_BY(saves_) = false;
  uint64_t saves_begun_ ABSL_GUARDED_BY(saves_) = 0;
  uint64_t saves_over_ ABSL_GUARDED_BY(saves_) = 0;
  absl::Status save_result_ ABSL_GUARDED_BY(saves_);
  CancelToken ending_;  // of saving
  absl::Mutex keeping_;
  // Null: not durable.
  const std::unique_ptr<DurableFiles> durable_ ABSL_PT_GUARDED_BY(keeping_);

  absl::Mutex attaching_;  // one thread gets the jail, the others wait for it
  absl::Mutex opening_;    // … or the file agent
  // Looking at it takes what init says.
  mutable absl::Mutex mutex_;
  // Who looks at its counters may have it a moment longer.
  mutable std::shared_ptr<sandbox::SessionJail> jail_ ABSL_GUARDED_BY(mutex_);
  mutable std::string death_ ABSL_GUARDED_BY(mutex_);
  // What was kept of the session's files is in the jail.
  bool filled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_process_ ABSL_GUARDED_BY(mutex_) = 1;
  // By context; of processes that were asked for, too.
  mutable std::map<std::string, Place> places_ ABSL_GUARDED_BY(mutex_);
  // By process: how it ended, or that it was started.
  struct Process {
    enum class Stage { kAsked, kFailed, kRunning, kEnded };
    Stage stage = Stage::kAsked;
    int wait_status = 0;
    sandbox::SpawnedEvent spawned;
    sandbox::SpawnFailedEvent failed;
  };
  mutable std::map<uint64_t, Process> processes_ ABSL_GUARDED_BY(mutex_);
  // By process, those of commands.
  mutable std::map<uint64_t, TakeProcessNews> commands_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<sandbox::FileAgent> files_ ABSL_GUARDED_BY(mutex_);
  // In the jail, as the next cell tells of them.
  std::optional<UsedLibraries> libraries_ ABSL_GUARDED_BY(mutex_);
  // What a fork's child begins with, until it did.
  std::shared_ptr<const FileArchive> archive_ ABSL_GUARDED_BY(mutex_);
  // File agents that init was asked for and hasn't told of, and its last word.
  mutable int files_due_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable sandbox::FileChannelEvent files_told_ ABSL_GUARDED_BY(mutex_) = {};
};

// A session's host for one run that wants results and has no session: the same
// kernel, for one cell.
absl::StatusOr<JobResult> RunRich(const JailHostParts& parts, const Job& job,
                                  CancelToken& cancel, JobObserver* observer);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_HOST_H_
