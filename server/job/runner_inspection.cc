#include "server/job/runner_inspection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

// Inspecting a megabyte of text takes two seconds.
constexpr absl::Duration kLongest = absl::Seconds(5);
// From here on the processor time of the inspection is more than what it costs
// to subtract it.
constexpr absl::Duration kLong = absl::Milliseconds(2);

}  // namespace

bool RunnerInspection::CanBeIn(const sandbox::Jail& jail) {
  if (!wanted_ || jail.has_runner()) return true;
  not_looked_at_.emplace();
  return false;
}

void RunnerInspection::Begin() {
  if (wanted_ && began_ == MonotonicTime()) began_ = Now();
}

MonotonicTime RunnerInspection::deadline() const {
  return under_way() ? After(began_, kLongest) : kNever;
}

void RunnerInspection::HandleTimeout() {
  not_looked_at_ = absl::StrCat("that would take longer than ",
                                absl::FormatDuration(kLongest));
}

bool RunnerInspection::HandleDeath(const sandbox::Jail& jail) {
  if (!under_way() || ++died_ < 2) return false;
  not_looked_at_ = jail.SawOomKill() ? "that would take more memory than it has"
                                     : "the analyser came to an end";
  return true;
}

absl::StatusOr<bool> RunnerInspection::Decide(const std::string& facts,
                                              sandbox::Jail& jail) {
  // If the first jail died after it was allowed to start the program, a second
  // one tells nothing new, and an approval is already used up.
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

void RunnerInspection::Fill(JobResult& result) {
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

}  // namespace sandglass::server
