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
#include "server/job/language_gate.h"
#include "server/job/refused_calls.h"
#include "server/layers/library_request.h"
#include "server/pool/jail_pool.h"
#include "server/session/durable_files.h"
#include "server/session/file_archive.h"
#include "server/session/hosted_jail.h"
#include "server/session/kernel.h"
#include "server/session/process_host.h"
#include "server/session/session_copy.h"
#include "server/session/session_host.h"

namespace sandglass::server {

struct JailHostParts {
  sandbox::Sandbox* sandbox = nullptr;
  JailPool* pool = nullptr;
  // Whether what a language's kernel is started from is there.
  const LanguageGate* languages = nullptr;
  LibraryFinder* libraries = nullptr;  // null: none can be had
  // For files of forks that wait for their first use.
  std::shared_ptr<DiskBudget> fork_memory;
  DeniedCalls* denied = nullptr;  // null when calls aren't traced
};

// A session on a jail of this machine. It gets the jail with its first use: for
// the default kernel an idle one in which a zygote's child waits, so that the
// kernel is there at once.
class JailHost final : public SessionHost,
                       public KernelKeeper,
                       public ProcessHost {
 public:
  // Whatever `parts` points to must outlive this object.
  JailHost(const JailHostParts& parts, const SessionSpec& spec,
           const SessionOrigin& origin = {});

  absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                    RunListener* listener) override;
  bool Interrupt(const std::string& context) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void EndKernel(const std::string& context, const std::string& why) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> Files(CancelToken& cancel)
      override ABSL_LOCKS_EXCLUDED(attaching_, jail_.mutex());
  void ForgetFiles(const sandbox::FileAgent& agent) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status Save() override
      ABSL_LOCKS_EXCLUDED(saves_, keeping_, attaching_, jail_.mutex());
  absl::StatusOr<std::shared_ptr<const FileArchive>> Fork(CancelToken& cancel)
      override ABSL_LOCKS_EXCLUDED(jail_.forking(), saves_, keeping_,
                                   attaching_, jail_.mutex());
  absl::Status Freeze(bool frozen) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  ProcessHost* processes() override { return this; }
  void End() override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  std::vector<KernelStatus> Kernels() const override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  uint64_t MemoryBytes() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  std::string LayerId() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  std::string Death() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());

  // These are for the run that is going on in a kernel.
  Fate Look(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void Signal(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void Kill(const Kernel& kernel) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void EndJail(const std::string& why) override { jail_.EndJail(why); }

  // These are for commands.
  absl::Status Attach(CancelToken& cancel) override
      ABSL_LOCKS_EXCLUDED(jail_.forking(), attaching_, jail_.mutex());
  bool IsAttached() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  os::Fd NewsFd() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status StartProcess(const sandbox::ProcessSpec& spec,
                            TakeProcessNews take) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void TakeNews() override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void SignalProcess(pid_t pid, int signal, bool to_group) override
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void KillProcess(uint64_t id) override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  JailFacts Facts() const override ABSL_LOCKS_EXCLUDED(jail_.mutex());
  policy::UnchargedMemory ReadUncharged() const override;

 private:
  // A kernel's state, for all threads; the Kernel itself belongs to its run.
  struct Place {
    std::unique_ptr<Kernel> kernel;  // set since the first start
    KernelStatus status;
    bool started = false;
    std::string why_ended;  // reported with the next start
  };

  // The use for which a jail is fetched. If the default kernel comes with the
  // jail, it belongs to `context`; `code` is its first cell.
  struct FirstUse {
    std::string context;
    std::string code;
    RunListener* listener = nullptr;     // of an install; may be null
    const SessionSpec* guest = nullptr;  // as in SessionPlace
  };
  // What a run is to be like: the session's, or a guest's.
  const SessionSpec& SpecOf(const Job& job) const;
  absl::Status Attach(const FirstUse& use, CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(attaching_, keeping_, jail_.mutex());
  absl::Status AttachLocked(const FirstUse& use, CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(keeping_, jail_.mutex());
  absl::Status AttachNew(const FirstUse& use, CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Gives `start` the session's libraries, for a jail that is still to come.
  absl::Status TakeLibraries(const FirstUse& use, CancelToken& cancel,
                             Job& start) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Puts the files that were kept into a jail that has just been fetched.
  absl::Status Fill(CancelToken& cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
          ABSL_LOCKS_EXCLUDED(keeping_, jail_.mutex());
  // Whether another jail can replace a dead one, as the copy has its files.
  bool CanFollow() const ABSL_SHARED_LOCKS_REQUIRED(jail_.mutex());
  // Releases the jail. Kernels that had a state lost it, for the reason `why`;
  // an empty `why` means that none had one.
  void Discard(const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_, jail_.mutex());
  absl::Status SaveNow()
      ABSL_LOCKS_EXCLUDED(keeping_, attaching_, jail_.mutex());
  absl::Status AwaitFrozen(CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> OpenFiles(
      CancelToken& cancel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(attaching_)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> TakeJail(const Job& start,
                                                          Timings& timings);
  // Returns the context's kernel, which is started if there is none.
  // `state_lost` gets the reason why the one before it ended.
  absl::StatusOr<Kernel*> Ready(const Job& job, CancelToken& cancel,
                                RunListener* listener, std::string& state_lost)
      ABSL_LOCKS_EXCLUDED(attaching_, jail_.mutex());
  absl::Status StartKernel(const Job& job, CancelToken& cancel, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Asks for a process with the kernel's number and waits for its start.
  absl::Status Spawn(const sandbox::ProcessSpec& spec, CancelToken& cancel,
                     int64_t deadline, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Does one run of a language that has no kernel: its program, in this jail.
  absl::StatusOr<JobResult> RunProgram(const Job& job, CancelToken& cancel,
                                       RunListener* listener)
      ABSL_LOCKS_EXCLUDED(attaching_, jail_.mutex());
  Kernel& BeginProgram(const std::string& context)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::StatusOr<JobResult> RunStaged(const Job& job,
                                      const std::string& directory,
                                      sandbox::FileAgent& files, Kernel& kernel,
                                      CancelToken& cancel,
                                      RunListener* listener)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void SignalLocked(const Kernel& kernel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_.mutex());
  void KillLocked(const Kernel& kernel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_.mutex());
  // Waits until the kernel that init started says that it is ready. Its start
  // doesn't count as a cell's time.
  static absl::Status AwaitReady(Kernel& kernel, CancelToken& cancel,
                                 int64_t deadline);

  const JailHostParts parts_;
  const SessionSpec spec_;
  const JailLayer layer_;  // the one it was made with, or else without an id

  // Of several threads in Save at the same time, one does the work for all.
  absl::Mutex saves_;
  absl::CondVar save_over_;
  bool saving_ ABSL_GUARDED_BY(saves_) = false;
  uint64_t saves_begun_ ABSL_GUARDED_BY(saves_) = 0;
  uint64_t saves_over_ ABSL_GUARDED_BY(saves_) = 0;
  absl::Status save_result_ ABSL_GUARDED_BY(saves_);
  CancelToken ending_;  // ends saving
  absl::Mutex keeping_;
  // Null when the session isn't durable.
  const std::unique_ptr<DurableFiles> durable_ ABSL_PT_GUARDED_BY(keeping_);

  // Mutable, since even looking at the state handles what init has sent.
  mutable HostedJail jail_;

  absl::Mutex attaching_;  // one thread gets the jail or its file agent
  // By context; includes kernels whose process was only asked for so far.
  std::map<std::string, Place> places_ ABSL_GUARDED_BY(jail_.mutex());
  std::shared_ptr<sandbox::FileAgent> files_ ABSL_GUARDED_BY(jail_.mutex());
  // The libraries in the jail, as the next cell's answer reports them.
  std::optional<UsedLibraries> libraries_ ABSL_GUARDED_BY(jail_.mutex());
  // The files with which a fork's child begins, until it has got them.
  std::shared_ptr<const FileArchive> archive_ ABSL_GUARDED_BY(jail_.mutex());
};

// Does one run that wants rich results and has no session: the host of a
// session with the same kernel is made for a single cell.
absl::StatusOr<JobResult> RunRich(const JailHostParts& parts, const Job& job,
                                  CancelToken& cancel, RunListener* listener);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_HOST_H_
