#ifndef SANDGLASS_SANDBOX_ZYGOTE_RUNNER_H_
#define SANDGLASS_SANDBOX_ZYGOTE_RUNNER_H_

#include <linux/filter.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/jailed/streams.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/runner_protocol.h"
#include "sandbox/zygote/runner_job.h"

namespace sandglass::sandbox {

// What a runner is told to run. Views into a buffer that the runner keeps.
struct RunnerProgram {
  std::vector<const char*> arguments;
  std::vector<const char*> environment;  // "NAME=value"
  // The content of the first argument's file, if no other file came with the
  // job: then /workspace holds nothing else. Lives as long as the runner.
  std::optional<absl::string_view> sole_file;
  // Whose text the daemon wants to know of before the program starts; live as
  // long.
  std::vector<RunnerJobBody::File> to_look_at;
};

// Room for the text that ps(1) shows for this process and its children, for
// os::UseTitle. Empty with errno when there is none.
absl::Span<char> MakeTitle();
// Puts words into it, with spaces between them, as many as fit.
void ShowTitle(const std::vector<const char*>& words);
// That room; empty when MakeTitle had none.
absl::Span<char> Title();

// A zygote's child: joins its jail, gives up every right, waits for a job,
// says how it went. Linked into an interpreter, so it allocates little and
// throws nothing. One thread. A step that fails is told to the daemon, and the
// process ends: isolation may be partial.
class Runner {
 public:
  struct Jail {
    os::Fd init_pidfd;
    os::Fd socket;  // to the daemon
    std::vector<os::Fd> v1_tasks;
    absl::Span<const sock_filter> filter;
    int landlock_abi = 0;
    bool in_haste = false;  // a run waits
  };

  Runner(Jail jail, StepClock clock);

  // From the zygote's rights to those of a user's program. The descriptors 0
  // to 2 stay the zygote's.
  void EnterJail();
  void Begin(SetupStep step) { clock_.Begin(step); }
  bool in_haste() const { return jail_.in_haste; }
  // Its own standard streams; then the daemon knows that it waits.
  void AnnounceReady();
  // Blocks until the job is there, sets its limits, writes its files. The
  // process ends when the daemon gave the jail up.
  RunnerProgram TakeJob();
  // Tells what the text of the files names; the program may not start then
  // before there is leave, and starts with it: then nothing is announced. The
  // process ends when the daemon gives the jail up instead.
  void TellFacts(absl::string_view facts);
  void AwaitLeave();
  // For a fork of this process that reads the program: it no longer reaches the
  // daemon, nor the program's streams. False with errno when that can't be.
  bool CutOff();
  void AnnounceStart();
  // Ends the process. Only the runner itself reports its exit code, not a child
  // that the user's program forked.
  [[noreturn]] void Finish(int exit_code);
  // The step that was begun last failed, with errno.
  [[noreturn]] void Fail();

 private:
  void Tell(const RunnerEvent& event) const;
  static bool StageFiles(const std::vector<RunnerJobBody::File>& files);

  Jail jail_;
  StepClock clock_;
  pid_t pid_ = -1;
  char name_[16] = {};
  StreamPipes streams_;
  StreamPipe report_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ZYGOTE_RUNNER_H_
