#include "server/fill_jail.h"

#include <poll.h>

#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/acquire_jail.h"
#include "server/clock.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kFillTimeout = absl::Seconds(15);

// Until the jail says an Event, at most until `end`.
template <typename Event>
absl::Status Await(sandbox::Jail& jail, MonotonicTime end,
                   absl::string_view what) {
  while (true) {
    const absl::Duration left = Until(end);
    if (left <= absl::ZeroDuration()) {
      return absl::InternalError(
          absl::StrCat(what, " within ", absl::FormatDuration(kFillTimeout)));
    }
    absl::StatusOr<std::optional<sandbox::JailEvent>> event = jail.NextEvent();
    if (!event.ok()) return event.status();
    if (!event->has_value()) {
      struct pollfd fds[] = {{jail.control_fd(), POLLIN, 0},
                             {jail.runner_fd(), POLLIN, 0}};
      ::poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
      continue;
    }
    if (std::holds_alternative<Event>(**event)) return absl::OkStatus();
    if (const auto* failed = std::get_if<sandbox::FailedEvent>(&**event)) {
      return SetupError(*failed);
    }
    if (std::holds_alternative<sandbox::GoneEvent>(**event)) {
      return absl::UnavailableError("the jail died during its set-up");
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<sandbox::Jail>> FillJail(
    sandbox::Sandbox& sandbox, const PrestartKinds& prestart,
    const JailKey& key, sandbox::FillFor fill_for) {
  const MonotonicTime end =
      Monotonic::now() + absl::ToChronoNanoseconds(kFillTimeout);
  const bool waits = prestart.Has(key.kind);
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> made =
      sandbox.CreateJail(waits ? sandbox::kExecKind : key.kind, key.profile,
                         key.limits, kFillTimeout, fill_for);
  if (!made.ok()) return made;
  sandbox::Jail& jail = **made;
  if (absl::Status ready =
          Await<sandbox::ReadyEvent>(jail, end, "the jail was not ready");
      !ready.ok()) {
    return ready;
  }
  if (!waits) return made;
  if (absl::Status started = jail.Prestart(prestart.InterpreterOf(key));
      !started.ok()) {
    return started;
  }
  if (absl::Status waiting =
          Await<sandbox::WaitsEvent>(jail, end, "the interpreter did not wait");
      !waiting.ok()) {
    return waiting;
  }
  return made;
}

}  // namespace sandglass::server
