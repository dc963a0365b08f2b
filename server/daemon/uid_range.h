#ifndef SANDGLASS_SERVER_DAEMON_UID_RANGE_H_
#define SANDGLASS_SERVER_DAEMON_UID_RANGE_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The ids (uids and gids alike) of one daemon, including the last one.
struct UidRange {
  uid_t first = 0;
  uid_t last = 0;
};

// Reserves a range for this process: the jails of two daemons with the same ids
// would count against each other's limits. The reservation holds until the
// process ends or the descriptor is closed; a fork doesn't have it. It is
// visible to all processes for which ids have the same meaning as for this one
// (its user namespace), whichever mounts, network, process numbers or control
// groups they see, and so to containers, too, unless they map their ids.
// FAILED_PRECONDITION when another process has reserved one of these ids; the
// message says which process, and which setting to change. Preconditions: /proc
// is mounted; this process opens its ns/user nowhere else.
absl::StatusOr<os::Fd> HoldUidRange(const UidRange& range);

// Returns what HoldUidRange would return for a range that this process doesn't
// hold.
absl::Status CheckUidRange(const UidRange& range);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_UID_RANGE_H_
