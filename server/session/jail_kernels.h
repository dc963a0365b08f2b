#ifndef SANDGLASS_SERVER_SESSION_JAIL_KERNELS_H_
#define SANDGLASS_SERVER_SESSION_JAIL_KERNELS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "policy/language/language.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/jail/session_jail.h"
#include "server/base/cancel_token.h"
#include "server/base/clock.h"
#include "server/job/job.h"
#include "server/job/language_gate.h"
#include "server/job/session_spec.h"
#include "server/session/hosted_jail.h"
#include "server/session/jail_attachment.h"
#include "server/session/jail_files.h"
#include "server/session/kernel_protocol.h"
#include "server/session/session_host.h"

namespace sandglass::server {

// The process of one kernel and the daemon's ends of its pipes. It belongs to
// the run that is going on in it.
struct Kernel {
  // True for a program instead of a kernel: it has input instead of commands,
  // and no events. It ends with its only run, or is killed at a limit.
  bool is_program = false;
  uint64_t process = 0;  // the number by which HostedJail knows it
  // Its pid in the jail; 0 as long as it is not known. Other threads read it.
  std::atomic<pid_t> pid = 0;
  // Its standard input takes commands, what its cells write comes from its
  // output, and `channel` has the events. Without a group of its own, `kill` is
  // empty: it shares the jail's.
  sandbox::ProcessFds fds;
  // The form in which it wants its commands.
  policy::KernelRecipe::Commands commands =
      policy::KernelRecipe::Commands::kJson;
  KernelLines lines;
  uint64_t cells = 0;  // how many were sent to it
  uint32_t runs = 0;   // how many it has done
  Timings timings;     // of its start
  bool fresh = true;   // no cell has run in it
};

// The kernels in a session's jail, one for each context, and what runs in them.
// A language without a kernel has a program for each run in the same place.
// Thread-safe; runs of one context come one at a time.
class JailKernels {
 public:
  // `lost_contexts` is as in SessionOrigin; everything else outlives this
  // object.
  JailKernels(const LanguageGate& languages, const SessionSpec& spec,
              const std::vector<std::string>& lost_contexts, HostedJail& jail,
              JailAttachment& attachment, JailFiles& files);

  // As SessionHost says.
  absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                    RunListener* listener)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  bool Interrupt(const std::string& context) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void EndKernel(const std::string& context, const std::string& why)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  std::vector<v1::KernelInfo> Kernels() const
      ABSL_LOCKS_EXCLUDED(jail_.mutex());

  // These are for the run that is going on in a kernel.
  struct Fate {
    bool jail_gone = false;
    std::optional<int> wait_status;  // set when it has ended
    // The jail, which lives as long as a run is going on in it.
    const sandbox::Jail* jail = nullptr;
    int control_fd = -1;  // for poll(2): at POLLIN something may have changed
  };
  Fate AskFate(const Kernel& kernel) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Interrupts what runs in the kernel, as Ctrl-C does.
  void Signal(const Kernel& kernel) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Kills the kernel and everything that it started, in every way there is.
  void Kill(const Kernel& kernel) ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Kills all processes of the jail but init, in every way there is.
  void KillAll() ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Ends the jail, for when the kernel can't be ended otherwise.
  void EndJail(const std::string& why) { jail_.EndJail(why); }

  // These are called with HostedJail::mutex held.
  // Whether a run is going on in any of them, which may still need the jail,
  // even if it is dead.
  bool AnyIsBusy() const;
  // A jail has come whose own program is a kernel, which was started with
  // `timings` and belongs to `context`.
  void AdoptKernel(const std::string& context, Timings timings);
  // The jail is gone. Kernels that had a state lost it, for the reason `why`;
  // an empty `why` means that none had one.
  void Lose(const std::string& why);

 private:
  using Process = HostedJail::Process;

  // A kernel's state, for all threads; the Kernel itself belongs to its run.
  struct Place {
    Place() { status.set_state(v1::KERNEL_STATE_IDLE); }
    // The kernel has ended; `how` is also why, unless that is known already.
    void End(const std::string& how);

    std::unique_ptr<Kernel> kernel;  // set since the first start
    v1::KernelInfo status;
    bool started = false;
    std::string why_ended;  // reported with the next start
  };

  // What a run is to be like: the session's, or a guest's.
  const SessionSpec& SpecOf(const Job& job) const;
  // Before a run: writes the files that it brings. After it, while its context
  // is still busy: fetches those that it wants to have.
  absl::Status PutFilesOf(const Job& job, CancelToken& cancel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void FetchFilesOf(const Job& job, JobResult& result)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Returns the context's kernel, which is started if there is none.
  // `state_lost` gets the reason why the one before it ended.
  absl::StatusOr<Kernel*> Ready(const Job& job, CancelToken& cancel,
                                RunListener* listener, std::string& state_lost)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  absl::Status StartKernel(const Job& job, CancelToken& cancel, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // Asks for a process with the kernel's number and waits for its start.
  absl::Status Spawn(const sandbox::ProcessSpec& spec, CancelToken& cancel,
                     MonotonicTime deadline, Kernel& kernel)
      ABSL_LOCKS_EXCLUDED(jail_.forking(), jail_.mutex());
  // Waits until the kernel that init started says that it is ready. Its start
  // doesn't count as a cell's time.
  static absl::Status AwaitReady(Kernel& kernel, CancelToken& cancel,
                                 MonotonicTime deadline);
  // Does one run of a language that has no kernel: its program, in this jail.
  absl::StatusOr<JobResult> RunProgram(const Job& job, CancelToken& cancel,
                                       RunListener* listener)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  Kernel& BeginProgram(const std::string& context)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  // The process of a job, which has no limit of processor time: its runs have
  // limits of their own.
  static sandbox::ProcessSpec ProcessOf(const Job& job);
  absl::StatusOr<JobResult> RunStaged(const Job& job,
                                      const std::string& directory,
                                      sandbox::FileAgent& files, Kernel& kernel,
                                      CancelToken& cancel,
                                      RunListener* listener)
      ABSL_LOCKS_EXCLUDED(jail_.mutex());
  void SignalLocked(const Kernel& kernel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_.mutex());
  void KillAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_.mutex());
  void KillLocked(const Kernel& kernel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(jail_.mutex());

  const LanguageGate& languages_;
  const SessionSpec& spec_;
  HostedJail& jail_;
  JailAttachment& attachment_;
  JailFiles& files_;
  // By context; includes kernels whose process was only asked for so far.
  std::map<std::string, Place> places_ ABSL_GUARDED_BY(jail_.mutex());
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_KERNELS_H_
