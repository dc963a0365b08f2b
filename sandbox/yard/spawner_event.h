#ifndef SANDGLASS_SANDBOX_YARD_SPAWNER_EVENT_H_
#define SANDGLASS_SANDBOX_YARD_SPAWNER_EVENT_H_

#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/jail/jail.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/yard_stock.h"

namespace sandglass::sandbox {

// The messages of a yard's spawner. They aren't trusted: code that has taken
// over a yard must not reach further than that yard's own jails.

// The answer to a request for a jail: the jail, or the reason why there is
// none. RESOURCE_EXHAUSTED when the yard has no free slot, or this process has
// no room for the jail's descriptors; ZygoteStarting while no zygote serves.
struct JailAnswered {
  uint64_t jail_id = 0;
  absl::StatusOr<Jail::Parts> parts;
  bool no_slot = false;  // the yard has no free slot
  // The jail was made, but the descriptors that hold it were lost on the way.
  // It ends by itself, like every jail that nobody holds, and JailRemoved
  // follows.
  bool lost = false;
};
// A jail has ended and is removed.
struct JailRemoved {
  uint64_t jail_id = 0;
};
// Whether the yard's zygote accepts orders has changed to this.
struct ZygoteChanged {
  bool serves = false;
};
// One of these messages, or what the yard has (without the kind).
using SpawnerNews =
    std::variant<JailAnswered, JailRemoved, YardStock, ZygoteChanged>;

// The error for a step of a jail's set-up that failed: RESOURCE_EXHAUSTED where
// the machine lacks processes, descriptors, memory or disk space for one more
// jail, or the jail's own limit is too low, so that it is worth another try;
// else INTERNAL.
absl::Status SetupFailure(int step, int error);
// Whether this is a SetupFailure for want of memory: if it persists, the jail's
// limit is the cause and not the machine.
bool IsWantOfMemory(const absl::Status& status);

// UNAVAILABLE, recognised by IsZygoteStarting: the yard's zygote doesn't serve
// yet, or no longer does.
absl::Status ZygoteStarting();
bool IsZygoteStarting(const absl::Status& status);

// An error means that the spawner broke the protocol; its channel must not be
// used any further.
absl::StatusOr<SpawnerNews> ReadSpawnerEvent(os::Packet packet);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_SPAWNER_EVENT_H_
