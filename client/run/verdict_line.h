#ifndef SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_
#define SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

enum class Colour { kOff, kOn };

// The verdict with its evidence as one line without its newline, for example
// "sandglass: TIMEOUT after 5.00 s: wall time limit 5 s passed; killed by the
// daemon (run r-1)". What the daemon sent is made harmless for a terminal.
std::string VerdictLine(const v1::RunCodeResponse& response, Colour colour);

// Further lines in the same form: limits that were touched, processes left
// behind, a replayed answer, hints.
std::vector<std::string> NoteLines(const v1::RunCodeResponse& response);

// Where the time went, and the trace: for those who ask. In the same form.
std::vector<std::string> DetailLines(const v1::RunCodeResponse& response);

// What the caller lost with the run: a kernel's state, results. In the same
// form; to be said whatever the outcome.
std::vector<std::string> LossLines(const v1::RunCodeResponse& response);

// The line for a run that this client itself stopped on a signal; the daemon's
// verdict does not come back then. `run_id` is empty when it was not known.
std::string InterruptedLine(int signal, absl::Duration elapsed,
                            absl::string_view run_id, Colour colour);

// "memory" for LIMIT_KIND_MEMORY and so on.
std::string LimitName(v1::LimitKind kind);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_VERDICT_LINE_H_
