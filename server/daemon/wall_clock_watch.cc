#include "server/daemon/wall_clock_watch.h"

#include <sys/timerfd.h>
#include <time.h>

namespace sandglass::server {

void ArmClockWatch(const os::Fd& fd) {
  constexpr time_t kFarFuture = 9'000'000'000;
  itimerspec never{};
  never.it_value.tv_sec = kFarFuture;
  ::timerfd_settime(fd.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                    &never, nullptr);
}

os::Fd WatchWallClock() {
  os::Fd fd(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  ArmClockWatch(fd);
  return fd;
}

}  // namespace sandglass::server
