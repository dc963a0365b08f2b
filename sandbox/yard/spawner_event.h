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

// What a yard's spawner says. It isn't believed: a yard that was taken over
// must not reach further than its own jails.

// A jail was asked for, and there it is, or the reason why not:
// RESOURCE_EXHAUSTED when the yard has no slot free, or this process no room
// for the jail's descriptors; ZygoteStarting while no zygote serves.
struct JailAnswered {
  uint64_t jail_id = 0;
  absl::StatusOr<Jail::Parts> parts;
  bool no_slot = false;  // the yard has none free
  // The jail was made, and what it is held by got lost on the way. It ends of
  // itself, as one does that nobody holds, and JailRemoved follows.
  bool lost = false;
};
// A jail is gone for good.
struct JailRemoved {
  uint64_t jail_id = 0;
};
// Or what the yard has, without its kind.
using SpawnerNews = std::variant<JailAnswered, JailRemoved, YardStock>;

// Why a jail could not be made: INTERNAL, but RESOURCE_EXHAUSTED where the
// machine has no process, descriptor, memory or room on disk left for one more,
// or the jail's own limit none, so that it is worth another try.
absl::Status SetupFailure(int step, int error);
// Whether it is SetupFailure's, of memory: where it stays, the limit is to
// blame and not the machine.
bool IsWantOfMemory(const absl::Status& status);

// UNAVAILABLE, and known by IsZygoteStarting: the yard's zygote doesn't serve
// yet, or doesn't any more.
absl::Status ZygoteStarting();
bool IsZygoteStarting(const absl::Status& status);

// An error means that the spawner broke the protocol; its channel is over then.
absl::StatusOr<SpawnerNews> ReadSpawnerEvent(os::Packet packet);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_SPAWNER_EVENT_H_
