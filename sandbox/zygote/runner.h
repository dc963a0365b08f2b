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
#include "sandbox/wire/step_clock.h"
#include "sandbox/zygote/runner_job.h"

namespace sandglass::sandbox {

// What a runner is told to run. These are views into a buffer that the runner
// keeps.
struct RunnerProgram {
  std::vector<const char*> arguments;
  std::vector<const char*> environment;  // "NAME=value"
  // The content of the file in the first argument if it is the only file that
  // came with the job: then /workspace holds nothing else. Lives as long as the
  // runner.
  std::optional<absl::string_view> sole_file;
  // The files about whose text the daemon wants to know before the program
  // starts; they live as long as the runner.
  std::vector<RunnerJobBody::File> to_look_at;
};

// Makes room, for os::UseTitle, for the text that ps(1) shows for this process
// and its children. Returns an empty span and sets errno when there is no room.
absl::Span<char> MakeTitle();
// Writes as many of these words as fit into that room, separated by spaces.
void ShowTitle(const std::vector<const char*>& words);
// The room that MakeTitle made; empty when it made none.
absl::Span<char> Title();

// A zygote's child: joins its jail, gives up every right, waits for a job, and
// reports how it went. It is linked into an interpreter, so it allocates little
// and throws nothing. Not thread-safe. If a step fails, it reports that to the
// daemon and the process ends, because the isolation may be incomplete.
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

  // Exchanges the zygote's rights for those of a user's program. The
  // descriptors 0 to 2 remain the zygote's.
  void EnterJail();
  void Begin(SetupStep step) { clock_.Begin(step); }
  bool in_haste() const { return jail_.in_haste; }
  // Makes standard streams of its own, and then tells the daemon that it waits.
  void AnnounceReady();
  // Blocks until the job has arrived, sets its limits and writes its files. The
  // process ends if the daemon gives up the jail.
  RunnerProgram ReceiveJob();
  // Reports what the text of the files names. After that the program may only
  // start when AwaitLeave returns, and counts as started then: AnnounceStart
  // isn't called. The process ends if the daemon gives up the jail instead.
  void ReportFacts(absl::string_view facts);
  void AwaitLeave();
  // For a fork of this process that reads the program: cuts its connection to
  // the daemon and to the program's streams. Returns false and sets errno on
  // failure.
  bool CutOff();
  void AnnounceStart();
  // Ends the process. The exit code is only reported if this is the runner
  // itself, not a child that the user's program forked.
  [[noreturn]] void Finish(int exit_code);
  // Reports that the step that was begun last has failed with errno, and ends
  // the process.
  [[noreturn]] void Fail();

 private:
  void Report(const RunnerEvent& event) const;
  void ReportListener(const os::Fd& listener);
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
