#ifndef SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_
#define SANDGLASS_SERVER_JOB_RUNNER_INSPECTION_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
  bool CanBeIn(const sandbox::Jail& jail) {
    if (!wanted_ || jail.has_runner()) return true;
    not_looked_at_.emplace();
    return false;
  }
  // The jail has got the job now. Only the first call counts.
  void Begin() {
    if (wanted_ && began_ == MonotonicTime()) began_ = Now();
  }

  // The time by which there must be an answer; the far future when none is due.
  MonotonicTime deadline() const {
    return under_way() ? After(began_, kLongest) : kNever;
  }
  // That time has passed without an answer.
  void HandleTimeout() {
    not_looked_at_ = absl::StrCat("that would take longer than ",
                                  absl::FormatDuration(kLongest));
  }
  // The jail came to its end before its program started. Returns true when the
  // inspection seems to be the cause. Since an idle jail may die just when it
  // is handed out, that takes two dead jails.
  bool HandleDeath(const sandbox::Jail& jail) {
    if (!under_way() || ++died_ < 2) return false;
    not_looked_at_ = jail.SawOomKill()
                         ? "that would take more memory than it has"
                         : "the analyser came to an end";
    return true;
  }
  // Decides, and lets the program start or not. Returns true when the program
  // may start.
  absl::StatusOr<bool> Decide(const std::string& facts, sandbox::Jail& jail) {
    // If the first jail died after it was allowed to start the program, a
    // second one tells nothing new, and an approval is already used up.
    if (inspected_ == nullptr) {
      Inspected inspected = Inspect(job_, facts);
      inspected.time = Between(began_, Now());
      inspected_ = std::make_shared<const Inspected>(std::move(inspected));
    }
    if (stopped()) return false;
    const absl::Status left = jail.LetStart(inspected_->time > kLong);
    // The jail is gone; a GoneEvent follows.
    if (absl::IsUnavailable(left)) return false;
    if (!left.ok()) return left;
    return true;
  }

  // True when the program is not to start, or not in this jail.
  bool stopped() const {
    return not_looked_at_ ||
           (inspected_ != nullptr && inspected_->decision != Decision::kRun);
  }
  // Puts the outcome into a result, including the verdict if the program was
  // not to start. The time that the inspection took is subtracted from that of
  // staging.
  void Fill(JobResult& result) {
    result.not_looked_at = std::move(not_looked_at_);
    if (inspected_ == nullptr) return;
    if (inspected_->decision != Decision::kRun) {
      result.facts = StoppedFacts(*inspected_);
      result.verdict = policy::Decide(result.facts, job_.limits);
    }
    Timings& timings = result.timings;
    timings.analysis = inspected_->time;
    timings.stage_in =
        std::max(timings.stage_in - timings.analysis, absl::ZeroDuration());
    result.inspected = std::move(inspected_);
  }

 private:
  // Inspecting a megabyte of text takes two seconds.
  static constexpr absl::Duration kLongest = absl::Seconds(5);
  // From here on the processor time of the inspection is more than what it
  // costs to subtract it.
  static constexpr absl::Duration kLong = absl::Milliseconds(2);

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
