#ifndef SANDGLASS_SERVER_JOB_JOB_BUILDER_H_
#define SANDGLASS_SERVER_JOB_JOB_BUILDER_H_

#include <memory>
#include <optional>
#include <string>

#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "sandbox/yard/sandbox.h"
#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"
#include "server/job/session_spec.h"

namespace sandglass::server {

// Limits of both phases; compile counts for languages that have that phase.
struct PhaseLimits {
  policy::Limits run;
  policy::Limits compile;
};

// A job from a request that has been checked, and that is used up, with the
// libraries it asked for.
Job MakeJob(const policy::Language& language,
            const policy::SharedProfile& profile, const PhaseLimits& limits,
            v1::RunCodeRequest&& request,
            std::optional<WantedLibraries> libraries = std::nullopt);

// A cell of a session's kernel.
Job MakeCellJob(const SessionSpec& spec, const policy::Limits& limits,
                std::shared_ptr<Session> session, v1::RunCodeRequest&& request);

// A run in a session whose language has no kernel.
Job MakeProgramJob(const SessionSpec& spec, const PhaseLimits& limits,
                   std::shared_ptr<Session> session,
                   v1::RunCodeRequest&& request);

// What processes of a session have in their environment: the base, the
// language's, the profile's and the session's own, each over those before.
policy::StringPairs SessionEnvironment(const SessionSpec& spec);
// What every program has.
policy::StringPairs BaseEnvironment();
// Puts `layer` over `env`; the order of first mention stays.
void Overlay(const policy::StringPairs& layer, policy::StringPairs& env);

// What starts a kernel in a jail of its own; `code` is its first cell, by which
// the zygote is chosen. `spec` has a language with a kernel.
Job MakeKernelJob(const SessionSpec& spec, const std::string& code);

// The zygote of one kind of a language that has zygotes. Whoever starts it
// decides how many jails are kept for it.
sandbox::ZygoteOptions MakeZygote(const policy::Language& language,
                                  const policy::ZygoteKind& kind);

// Whether analysers of the language wait in jails of the profile: there is one
// that can, and rules that need it.
bool AnalyserWaits(const policy::Language& language,
                   const policy::Profile& profile);

// The kind of jail in which a phase's interpreter waits: "java-compile".
std::string PrestartKindName(const policy::Language& language,
                             policy::Phase phase);

// The interpreter that waits for a phase, as all runs under these limits start
// it. An analyser has an environment without the profile's part, as a compiler
// has. Precondition: the phase has a `prestart`.
sandbox::ProgramSpec MakePrestart(const policy::Language& language,
                                  policy::Phase phase,
                                  const policy::Profile& profile,
                                  const policy::Limits& limits);

// A job that runs one of a language's own commands, its version or a
// preparation, with no user's code. `floors` raise the profile's limits.
Job MakeToolJob(const policy::Language& language,
                const policy::Profile& profile,
                const policy::LimitFloors& floors,
                const policy::Command& command, const policy::StringPairs& env);

// Has a job, whose own profile isn't in force and so has no jails, compiled and
// looked at in those of another.
void UseJailsOf(const policy::SharedProfile& profile,
                const policy::Language& language, Job& job);

// A job that has the analyser of the language of `job` say what the text of its
// program names. Precondition: NeedsAnalyser(job).
Job MakeLookJob(const Job& job);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_BUILDER_H_
