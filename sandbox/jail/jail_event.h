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

// Notes a step that a jail or a yard reports. False for one that there isn't,
// a time that is none, and more than any jail takes.
bool AddStep(int64_t step, uint64_t nanoseconds,
             std::vector<StepTiming>& steps);

// Reads what init says of refused calls. False for more than it may say.
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
// Of a runner: the program is over, what it wrote is written. Whoever runs in
// the jail can say so, too, and would say when as he likes: so no time comes
// with it, and the end is when the daemon hears of it.
struct DoneEvent {
  int exit_code;
};
struct StartedEvent {
  int64_t monotonic_ns;
};
struct ExitedEvent {
  int wait_status;
  int64_t monotonic_ns;
  RefusedCalls refused;  // of a jail that traces them
};
// One file that was asked for; `file` is open for reading when `problem` is
// kNone.
struct FileEvent {
  std::string path;
  FileProblem problem;
  os::Fd file;
};
struct CollectDoneEvent {
  bool truncated;
};
// What the text of the program's files names, as an analyser says it
// (docs/policy.md); the program waits for Jail::LetStart.
struct FactsEvent {
  std::string text;
};
// Init is dead; nothing follows.
struct GoneEvent {};
// An interpreter was started in the jail and says that it waits.
struct WaitsEvent {};
using JailEvent =
    std::variant<RaisedEvent, ReadyEvent, FailedEvent, StartedEvent, DoneEvent,
                 ExitedEvent, FileEvent, CollectDoneEvent, GoneEvent,
                 WaitsEvent, FactsEvent>;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_JAIL_EVENT_H_
