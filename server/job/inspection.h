#ifndef SANDGLASS_SERVER_JOB_INSPECTION_H_
#define SANDGLASS_SERVER_JOB_INSPECTION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "policy/rules/rules.h"
#include "policy/verdict/verdict.h"

namespace sandglass::server {

struct Job;

// The approval that a run has, and who gave it.
struct ApprovedBy {
  std::string approval_id;
  std::string approver;
  bool for_session = false;
};

// Knows who lets a run begin that needs a person's approval.
class RunApprover {
 public:
  virtual ~RunApprover() = default;

  // Who lets a program run in which this was found; nullopt: nobody. An error
  // says why the approval that the request named is not good, in words for the
  // caller. A good one is used up by this call.
  virtual absl::StatusOr<std::optional<ApprovedBy>> Approve(
      const policy::Findings& findings) = 0;
};

// That the text of a run's program is looked at before it runs, by the rules
// of its profile.
struct Inspection {
  policy::SharedProfile profile;
  // The profile in whose jails an analyser works: the same one, unless it has
  // no jails.
  policy::SharedProfile jails;
  const policy::Language* language;  // outlives the run
  // The names of the files below /workspace that hold the program's text, the
  // main one first; the others are files of the job.
  std::vector<std::string> sources;
  // Files of the job that the program could load but that no analyser reads.
  std::vector<std::string> opaque;
  // Asked on the run's worker where a rule wants an approval; null: nobody can
  // approve the run.
  std::shared_ptr<RunApprover> approver;
};

// What happens to a run whose program was inspected.
enum class Decision { kRun, kNeedsApproval, kDenied };

struct Inspected {
  policy::Findings findings;
  std::vector<std::string> sources;  // as in Inspection
  Decision decision = Decision::kRun;
  std::string reason;   // the verdict's explanation, unless kRun
  absl::Duration time;  // how long the inspection took
  std::optional<ApprovedBy> approved;
};

bool EndsWithOneOf(const std::string& path,
                   const std::vector<std::string>& endings);

// Null when the profile has no rule for the language.
std::shared_ptr<Inspection> MakeInspection(const policy::SharedProfile& profile,
                                           const policy::Language& language,
                                           const Job& job);

// Whether the runner in which the job is to run inspects its text first.
bool LooksInRunner(const Job& job);

// Whether the job's compiler inspects it, and leaves a file with what it found.
bool LooksInCompiler(const Job& job);

// The texts that are inspected, as views into the job.
std::vector<std::string_view> SourcesOf(const Job& job);

// Applies the rules to `said`: what an analyser said about the job's program,
// or the error for which it said nothing. Uses the approval where a rule asks
// for one.
Inspected Inspect(const Job& job, const absl::StatusOr<std::string>& said);

// The facts of a run that was not allowed to run.
policy::RunFacts StoppedFacts(const Inspected& inspected);

// Whether an analyser has to be asked at all, and whether it is one that is
// prepared for the language.
bool NeedsAnalyser(const Job& job);
bool NeedsPreparedAnalyser(const Job& job);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_INSPECTION_H_
