#ifndef SANDGLASS_SERVER_BASE_POLL_UNTIL_H_
#define SANDGLASS_SERVER_BASE_POLL_UNTIL_H_

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "sandbox/os/io.h"
#include "server/base/clock.h"

namespace sandglass::server {

// Returns false when the deadline passed without any event; after true, some
// may have come.
inline bool PollUntil(struct pollfd* fds, size_t count,
                      MonotonicTime deadline) {
  const int64_t left =
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(Between(Now(), deadline)));
  struct timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
  const int ready = ::ppoll(fds, count, &timeout, nullptr);
  // ENOMEM goes away.
  if (ready < 0 && errno != EINTR) ::usleep(os::kShortagePauseMicros);
  return ready > 0 || (ready < 0 && Now() < deadline);
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_POLL_UNTIL_H_
