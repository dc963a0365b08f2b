#ifndef SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_
#define SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

enum class Colour { kOff, kOn };

// The verdict with its evidence, as one line without its newline, for example
// "sandglass: TIMEOUT after 5.00 s: wall time limit 5 s passed; killed by the
// daemon (run r-1)". What the daemon sent is made harmless for a terminal.
std::string VerdictLine(const v1::RunCodeResponse& response, Colour colour);

// Further lines of the same form: limits that were touched, processes that were
// left over, a replayed answer, hints.
std::vector<std::string> NoteLines(const v1::RunCodeResponse& response);

// Lines that say where the time went, and the trace, for users who ask for
// that. Of the same form.
std::vector<std::string> DetailLines(const v1::RunCodeResponse& response);

// Lines that say what the caller lost with the run: a kernel's state, results.
// Of the same form; to be printed whatever the outcome.
std::vector<std::string> LossLines(const v1::RunCodeResponse& response);

// The line for a run that this client itself stopped on a signal; then there is
// no verdict from the daemon. `run_id` is empty when it isn't known.
std::string InterruptedLine(int signal, absl::Duration elapsed,
                            absl::string_view run_id, Colour colour);

// The limit's name for people, for example "memory" for LIMIT_KIND_MEMORY.
std::string LimitName(v1::LimitKind kind);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_
