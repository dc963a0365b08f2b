#include "client/mcp/stop_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace sandglass::client {

StopSignal::StopSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::Set() const {
  const uint64_t one = 1;
  while (write(fd_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool StopSignal::is_set() const {
  pollfd poller = {fd_.get(), POLLIN, 0};
  return poll(&poller, 1, 0) > 0;
}

}  // namespace sandglass::client
