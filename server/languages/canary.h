#ifndef SANDGLASS_SERVER_LANGUAGES_CANARY_H_
#define SANDGLASS_SERVER_LANGUAGES_CANARY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// One run of a language's canary (policy::Canary). If a filter refuses
// something that a runtime needs, this shows here and not in users' programs.
struct CanaryRun {
  const policy::Language* language;
  policy::SharedProfile profile;
  // True: with a fresh interpreter. False: in one that has already started, as
  // runs do when one is there, if the language has such interpreters.
  bool fresh;
};

// The runs that show that the language works. Its canary runs once for each
// distinct filter of the profiles that allow the language: under the default
// profile if that has the filter, otherwise under the one with the most memory.
// It runs with a fresh interpreter, and with one that has already started if
// the language has such. Empty when the language has no canary. Pointers are
// into `policy`.
std::vector<CanaryRun> PlanCanaries(const PolicySet& policy,
                                    const policy::Language& language);

// Runs one on the calling thread, as a request would be run.
// FAILED_PRECONDITION: the canary failed twice, or three times in a row its
// jail found no memory, which then is its profile's limit; says under which
// profile and filter, what was expected and what came. Other codes: it could
// not be tried (CANCELLED, UNAVAILABLE, RESOURCE_EXHAUSTED), which says nothing
// of the language.
absl::Status RunCanary(const CanaryRun& canary, JobRunner& runner,
                       CancelToken& cancel);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_CANARY_H_
