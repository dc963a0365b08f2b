#ifndef SANDGLASS_SANDBOX_JAIL_JAIL_EVENT_H_
#define SANDGLASS_SANDBOX_JAIL_JAIL_EVENT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/refused_calls.h"
#include "sandbox/wire/setup_step.h"

namespace sandglass::internal {
class RefusedCalls;
}

namespace sandglass::sandbox {

struct StepTiming {
  SetupStep step;
  absl::Duration duration;
};

// Adds a step that a jail or a yard reports. False when there is no such step,
// when the time isn't valid, and when there are more steps than any jail takes.
bool AddStep(int64_t step, uint64_t nanoseconds,
             std::vector<StepTiming>& steps);

// Reads the refused calls that init reports. False when there are more than it
// may report.
bool ReadRefused(const internal::RefusedCalls& from, RefusedCalls& to);

// INTERNAL: of what no init that behaves says.
inline absl::Status BrokenProtocol() {
  return absl::InternalError("init broke the protocol");
}

// What the jail's init reports. The daemon takes each where it belongs and not
// more often than an init that behaves says it; all else breaks the protocol.
struct RaisedEvent {};  // stands; only of a jail that wasn't made ahead
struct ReadyEvent {};   // and is fit for its run
struct FailedEvent {
  SetupStep step;
  int error;  // errno
};
// From a runner: the program is over and its output is written. Any code in the
// jail can send this too, and could choose the time in it: so it has none, and
// the end is when the daemon receives it.
struct DoneEvent {
  int exit_code;
};
struct StartedEvent {
  int64_t monotonic_ns;
};
struct ExitedEvent {
  int wait_status;
  int64_t monotonic_ns;
  RefusedCalls refused;  // only in a jail that traces them
};
// The answer for one file that was asked for; `file` is open for reading when
// `problem` is kNone.
struct FileEvent {
  std::string path;
  FileProblem problem;
  os::Fd file;
};
struct CollectDoneEvent {
  bool truncated;
};
// What the text of the program's files names, as reported by an analyser
// (docs/policy.md). The program waits for Jail::LetStart.
struct FactsEvent {
  std::string text;
};
// Init is dead; no event follows.
struct GoneEvent {};
// The interpreter that was started in the jail reports that it waits.
struct WaitsEvent {};
using JailEvent =
    std::variant<RaisedEvent, ReadyEvent, FailedEvent, StartedEvent, DoneEvent,
                 ExitedEvent, FileEvent, CollectDoneEvent, GoneEvent,
                 WaitsEvent, FactsEvent>;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JAIL_EVENT_H_
