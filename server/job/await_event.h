#ifndef SANDGLASS_SERVER_JOB_AWAIT_EVENT_H_
#define SANDGLASS_SERVER_JOB_AWAIT_EVENT_H_

#include <poll.h>

#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandbox/jail/jail.h"
#include "server/base/clock.h"
#include "server/job/jail_source.h"

namespace sandglass::server {

// Waits until the jail sends an Event, at most until `end`; an error then
// begins with `what` ("the jail was not ready"). UNAVAILABLE: the jail died.
// What the jail has sent by `end` counts even where this process stood still
// meanwhile, but one that goes on talking is late.
template <typename Event>
absl::Status AwaitEvent(sandbox::Jail& jail, MonotonicTime end,
                        absl::string_view what) {
  constexpr int kMaxLate = 16;
  const absl::Duration timeout = Until(end);
  int late = 0;
  while (true) {
    const absl::Duration left = Until(end);
    if (left <= absl::ZeroDuration()) ++late;
    absl::StatusOr<std::optional<sandbox::JailEvent>> event = jail.NextEvent();
    if (!event.ok()) return event.status();
    if (late > kMaxLate || (late > 0 && !event->has_value())) {
      return absl::InternalError(absl::StrCat(
          what, " within ",
          absl::FormatDuration(absl::Ceil(timeout, absl::Seconds(1)))));
    }
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

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_AWAIT_EVENT_H_
