#include "server/base/cancel_token.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace sandglass::server {

CancelToken::CancelToken() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void CancelToken::Cancel(policy::KillReason reason) {
  int none = -1;
  if (!reason_.compare_exchange_strong(none, static_cast<int>(reason))) return;
  const uint64_t one = 1;
  if (event_.valid()) (void)!::write(event_.get(), &one, sizeof(one));
}

std::optional<policy::KillReason> CancelToken::reason() const {
  const int reason = reason_.load();
  if (reason < 0) return std::nullopt;
  return static_cast<policy::KillReason>(reason);
}

}  // namespace sandglass::server
