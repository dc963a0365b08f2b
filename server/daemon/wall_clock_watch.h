#ifndef SANDGLASS_SERVER_DAEMON_WALL_CLOCK_WATCH_H_
#define SANDGLASS_SERVER_DAEMON_WALL_CLOCK_WATCH_H_

#include "sandbox/os/fd.h"

namespace sandglass::server {

// WatchWallClock returns a descriptor that becomes readable when the wall clock
// is set (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). It then has to be read,
// which fails with ECANCELED, and armed anew.
os::Fd WatchWallClock();
void ArmClockWatch(const os::Fd& fd);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_WALL_CLOCK_WATCH_H_
