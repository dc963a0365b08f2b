#ifndef SANDGLASS_SERVER_RUN_RUN_RESPONSE_H_
#define SANDGLASS_SERVER_RUN_RUN_RESPONSE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"
#include "server/run/run.h"

namespace sandglass::server {

// Adds the rules' findings to an answer.
void AddFindings(const Inspected& inspected,
                 google::protobuf::RepeatedPtrField<v1::Finding>& proto);

v1::PhaseResult MakePhaseResult(const JobResult& compile);
// Shortens its outputs so that it fits into any message as an event of its own.
void FitPhase(v1::PhaseResult& phase);

v1::Hint ToProto(policy::Hint hint);
v1::RichResult ToProto(const RichOutput& output);
v1::LibrariesUsed ToProto(const UsedLibraries& libraries);

// Makes the whole answer to a run, including hints. `queued` is the time in the
// queue, `total` the time since the call came in.
v1::RunCodeResponse MakeResponse(const Run& run, JobResult&& result,
                                 absl::Duration queued, absl::Duration total);

// Makes the answer to a run that was cancelled before its program started,
// either by those who waited for it or by its session's end.
v1::RunCodeResponse MakeNeverStartedResponse(const Run& run,
                                             absl::Duration queued,
                                             policy::KillReason why);

// Shortens a response until the message has at most `max_bytes`. First it
// leaves out the content of returned files, largest first; such a file then
// says FILE_ERROR_TOO_LARGE and keeps its size. When that is not enough it
// leaves out results, the largest first, and then the middle of the outputs.
void FitResponse(v1::RunCodeResponse& response, uint64_t max_bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_RUN_RESPONSE_H_
