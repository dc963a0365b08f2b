#include "server/job/death.h"

#include "absl/time/time.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kByPidAfter = absl::Milliseconds(50);
constexpr absl::Duration kEvery = absl::Milliseconds(100);
constexpr absl::Duration kJailAfter = absl::Seconds(5);
constexpr absl::Duration kNamespaceAfter = absl::Seconds(7);
constexpr absl::Duration kTimeout = absl::Seconds(10);

}  // namespace

bool Death::Insist(sandbox::Jail& jail, Instant now) {
  if (now < After(killed_, kByPidAfter) || now < again_) return true;
  again_ = After(now, kEvery);
  if (now < After(killed_, kJailAfter)) {
    (void)jail.KillRunByPid();
  } else if (now < After(killed_, kNamespaceAfter)) {
    (void)jail.KillJail();
  } else {
    jail.EndNamespace();
  }
  return now < After(killed_, kTimeout);
}

}  // namespace sandglass::server
