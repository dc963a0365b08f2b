#ifndef SANDGLASS_SERVER_BASE_POLL_UNTIL_H_
#define SANDGLASS_SERVER_BASE_POLL_UNTIL_H_

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstddef>

#include "server/base/monotonic.h"

namespace sandglass::server {

// Returns false when the deadline passed without any event.
inline bool PollUntil(struct pollfd* fds, size_t count, Instant deadline) {
  const Instant left = std::max<Instant>(0, deadline - Now());
  struct timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
  return ::ppoll(fds, count, &timeout, nullptr) != 0;
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_POLL_UNTIL_H_
