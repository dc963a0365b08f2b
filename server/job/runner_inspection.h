#ifndef SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_
#define SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/jail/jail.h"
#include "server/base/clock.h"
#include "server/job/inspection.h"
#include "server/job/job.h"

namespace sandglass::server {

// The inspection that a runner makes of a program before it runs it, from the
// side of the run: it is asked for with the job, answered with facts, and then
// decided. When something goes wrong, that is reported as the reason why the
// text was not inspected.
class RunnerInspection {
 public:
  explicit RunnerInspection(const Job& job)
      : job_(job), wanted_(LooksInRunner(job)) {}

  // Call it with the jail that the job goes to. Returns false when that jail
  // can't inspect the text.
  bool CanBeIn(const sandbox::Jail& jail);
  // The jail has got the job now. Only the first call counts.
  void Begin();

  // The time by which there must be an answer; the far future when none is due.
  MonotonicTime deadline() const;
  // That time has passed without an answer.
  void HandleTimeout();
  // The jail came to its end before its program started. Returns true when the
  // inspection seems to be the cause. Since an idle jail may die just when it
  // is handed out, that takes two dead jails.
  bool HandleDeath(const sandbox::Jail& jail);
  // Decides, and lets the program start or not. Returns true when the program
  // may start.
  absl::StatusOr<bool> Decide(const std::string& facts, sandbox::Jail& jail);

  // True when the program is not to start, or not in this jail.
  bool stopped() const {
    return not_looked_at_ ||
           (inspected_ != nullptr && inspected_->decision != Decision::kRun);
  }
  // Puts the outcome into a result, including the verdict if the program was
  // not to start. The time that the inspection took is subtracted from that of
  // staging.
  void Fill(JobResult& result);

 private:
  bool under_way() const {
    return began_ != MonotonicTime() && inspected_ == nullptr;
  }

  const Job& job_;
  const bool wanted_;
  MonotonicTime began_;
  int died_ = 0;
  std::shared_ptr<const Inspected> inspected_;
  std::optional<std::string> not_looked_at_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_
