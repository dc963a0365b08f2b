#ifndef SANDGLASS_SERVER_EXEC_EXEC_ANSWERS_H_
#define SANDGLASS_SERVER_EXEC_EXEC_ANSWERS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "policy/limits/limits.h"
#include "policy/verdict/hints.h"
#include "policy/verdict/verdict.h"
#include "sandbox/jail/session_jail.h"
#include "sandglass/v1/exec.pb.h"
#include "server/exec/exec_output.h"
#include "server/exec/exec_request.h"

namespace sandglass::server {

// The answers about commands.

// Decides the verdict and makes the answer about a command's end. `hints` has
// what hints are derived from, without the verdict.
v1::ExecEnd MakeExecEnd(const policy::RunFacts& facts,
                        const policy::Limits& limits,
                        const sandbox::GroupCpu& cpu,
                        const policy::RedactionCounts& redacted,
                        policy::HintFacts hints);
void LogExecEnd(const std::string& session_id, const std::string& exec_id,
                const v1::ExecEnd& end);

// Drops what is no longer needed of a command that was started: its input, its
// environment, and the long parts of its arguments.
void KeepForShow(ExecPlan& plan);
// Describes what was asked for.
v1::ExecInfo InfoOf(const ExecPlan& plan);

void FillOutput(const ExecOutput::Piece& piece, v1::ExecOutput& proto);
void FillGap(const ExecOutput::Gap& gap, v1::ExecGap& proto);

// The error that says why the process could not be started.
absl::Status StartFailure(const sandbox::SpawnFailedEvent& event,
                          const ExecPlan& plan);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_ANSWERS_H_
