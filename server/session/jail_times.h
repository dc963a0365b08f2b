#ifndef SANDGLASS_SERVER_SESSION_JAIL_TIMES_H_
#define SANDGLASS_SERVER_SESSION_JAIL_TIMES_H_

#include "absl/time/time.h"

namespace sandglass::server {

// Times that several of JailHost's parts share.

// How long a jail may take until it is set up, and a program until it starts.
inline constexpr absl::Duration kSetupTimeout = absl::Seconds(15);
// Others may take the event that one waits for, so one looks so often.
inline constexpr absl::Duration kLookInterval = absl::Milliseconds(5);
// More processor time than any process gets to: no limit.
inline constexpr absl::Duration kNoCpuLimit = absl::Hours(24 * 365);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_JAIL_TIMES_H_
