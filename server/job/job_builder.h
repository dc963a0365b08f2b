#ifndef SANDGLASS_SERVER_JOB_JOB_BUILDER_H_
#define SANDGLASS_SERVER_JOB_JOB_BUILDER_H_

#include <optional>
#include <string>

#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "sandbox/yard/sandbox.h"
#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"
#include "server/job/job_environment.h"
#include "server/job/session_spec.h"

namespace sandglass::server {

// The limits of both phases; `compile` counts only for languages that have that
// phase.
struct PhaseLimits {
  policy::Limits run;
  policy::Limits compile;
};

// Makes a job from a request that has been checked, with the libraries that it
// asked for. The request is moved from.
Job MakeJob(const policy::Language& language,
            const policy::SharedProfile& profile, const PhaseLimits& limits,
            v1::RunCodeRequest&& request,
            std::optional<LibraryRequest> libraries = std::nullopt);

// Makes a job for a cell of a session's kernel.
Job MakeCellJob(const SessionSpec& spec, const policy::Limits& limits,
                SessionPlace place, v1::RunCodeRequest&& request);

// Makes a job for a run in a session whose language has no kernel.
Job MakeProgramJob(const SessionSpec& spec, const PhaseLimits& limits,
                   SessionPlace place, v1::RunCodeRequest&& request);

// What the profile offers to programs in the language, which may be null.
policy::LibraryOffer OfferTo(const policy::Language* language,
                             const policy::Profile& profile);

// The environment of a session's processes: the base, the language's, the
// profile's and the session's own variables, each overriding those before.
policy::StringPairs SessionEnvironment(const SessionSpec& spec);

// Makes a job that starts a kernel in a jail of its own. `code` is its first
// cell; the zygote is chosen by it. The language of `spec` must have a kernel.
Job MakeKernelJob(const SessionSpec& spec, const std::string& code);

// The options of the zygote of one kind, for a language that has zygotes.
// Whoever starts it decides how many jails are kept for it.
sandbox::ZygoteOptions MakeZygote(const policy::Language& language,
                                  const policy::ZygoteKind& kind);

// Whether analysers of the language wait in jails of the profile: the language
// has one that can wait, and the profile has rules that need it.
bool AnalyserWaits(const policy::Language& language,
                   const policy::Profile& profile);

// The kind of jail in which a phase's interpreter waits, for example
// "java-compile".
std::string PrestartKindName(const policy::Language& language,
                             policy::Phase phase);

// The interpreter that waits for a phase, started as for all runs under these
// limits. Like a compiler, an analyser gets an environment without the
// profile's part. Precondition: the phase has a `prestart`.
sandbox::ProgramSpec MakePrestart(const policy::Language& language,
                                  policy::Phase phase,
                                  const policy::Profile& profile,
                                  const policy::Limits& limits);

// Makes a job that runs one of a language's own commands (for its version or a
// preparation) without any user's code. `floors` raise the profile's limits.
Job MakeToolJob(const policy::Language& language,
                const policy::Profile& profile,
                const policy::LimitFloors& floors,
                const policy::Command& command, const policy::StringPairs& env);

// Changes a job whose own profile isn't in force and so has no jails: it is
// compiled and inspected in the jails of `profile`.
void UseJailsOf(const policy::SharedProfile& profile,
                const policy::Language& language, Job& job);

// Makes a job in which the analyser of the language of `job` says what the text
// of its program names. Precondition: NeedsAnalyser(job).
Job MakeLookJob(const Job& job);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_BUILDER_H_
