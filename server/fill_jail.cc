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

}  // namespace

absl::StatusOr<std::unique_ptr<sandbox::Jail>> FillJail(
    sandbox::Sandbox& sandbox, const JailKey& key, sandbox::FillFor fill_for) {
  const MonotonicTime end =
      Monotonic::now() + absl::ToChronoNanoseconds(kFillTimeout);
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> made = sandbox.CreateJail(
      key.kind, key.profile, key.limits, kFillTimeout, fill_for);
  if (!made.ok()) return made;
  sandbox::Jail& jail = **made;
  while (!jail.is_ready()) {
    struct pollfd fds[] = {{jail.control_fd(), POLLIN, 0},
                           {jail.runner_fd(), POLLIN, 0}};
    const absl::Duration left = Until(end);
    if (left <= absl::ZeroDuration()) {
      return absl::InternalError(
          absl::StrCat("the jail was not ready within ",
                       absl::FormatDuration(kFillTimeout)));
    }
    ::poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    absl::StatusOr<std::optional<sandbox::JailEvent>> event = jail.NextEvent();
    if (!event.ok()) return event.status();
    if (!event->has_value()) continue;
    if (const auto* failed = std::get_if<sandbox::FailedEvent>(&**event)) {
      return SetupError(*failed);
    }
    if (std::holds_alternative<sandbox::GoneEvent>(**event)) {
      return absl::UnavailableError("the jail died during its set-up");
    }
  }
  return made;
}

}  // namespace sandglass::server
