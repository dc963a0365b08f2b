#ifndef SANDGLASS_SERVER_DAEMON_UID_RANGE_H_
#define SANDGLASS_SERVER_DAEMON_UID_RANGE_H_

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// Ids (uids and gids alike) of one daemon, the last one included.
struct UidRange {
  uid_t first = 0;
  uid_t last = 0;
};

// Keeps a range for this process: two daemons with the same ids would have
// jails that count against each other's limits. Holds until the process ends
// or the descriptor is closed; a fork doesn't have it. Known to all who number
// their ids as this process does (its user namespace), whatever mounts,
// network, process numbers or control groups they see: to containers, too,
// unless they map their ids. FAILED_PRECONDITION when another holds one of
// these ids; the message says who, and which setting to change.
// Preconditions: /proc is mounted; this process opens its ns/user nowhere else.
absl::StatusOr<os::Fd> HoldUidRange(const UidRange& range);

// What HoldUidRange would say, of a range that this process doesn't hold.
absl::Status CheckUidRange(const UidRange& range);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_UID_RANGE_H_
