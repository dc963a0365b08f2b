#ifndef SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_
#define SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/jail/jail.h"
#include "server/base/monotonic.h"
#include "server/job/inspection.h"
#include "server/job/job.h"

namespace sandglass::server {

// The look that a runner takes at a program before it runs it, as its run sees
// it: asked for with the job, answered by facts, then decided. What goes wrong
// is told as a reason why the text was not looked at.
class RunnerLook {
 public:
  explicit RunnerLook(const Job& job)
      : job_(job), wanted_(LooksInRunner(job)) {}

  // The jail that the job goes to. False when it has nobody who looks.
  bool CanBeIn(const sandbox::Jail& jail);
  // The jail has the job now. Only the first call counts.
  void Begin();

  // Until when there must be an answer; the far future where none is due.
  Instant deadline() const;
  // That has passed without one.
  void TellLate();
  // The jail came to its end before its program started. True when that was
  // the look's doing, as far as can be told: an idle jail may die as it is
  // given out, so it takes two.
  bool TellDied(const sandbox::Jail& jail);
  // Decides, and lets the program start or not: true when it has.
  absl::StatusOr<bool> Take(const std::string& facts, sandbox::Jail& jail);

  // The program is not to start, or not here.
  bool stopped() const {
    return not_looked_at_ ||
           (inspected_ != nullptr && inspected_->decision != Decision::kRun);
  }
  // Puts what came of it into a result: the verdict too, where the program was
  // not to start. Its time is taken off the staging's.
  void Fill(JobResult& result);

 private:
  bool under_way() const { return began_ != 0 && inspected_ == nullptr; }

  const Job& job_;
  const bool wanted_;
  Instant began_ = 0;
  int died_ = 0;
  std::shared_ptr<const Inspected> inspected_;
  std::optional<std::string> not_looked_at_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_
