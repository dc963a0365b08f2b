#ifndef SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_
#define SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// The first of a yard's ids that jails use; the yard's id 0 is the spawner.
inline constexpr uid_t kFirstJailUid = 1000;

// The range of ids (uids and gids alike) that belongs to one yard, as numbered
// in the daemon's user namespace.
struct UidSlice {
  uid_t first = 1879048192;
  uint32_t count = 65536;
};

// How many ids a yard needs: those for the spawner, and two for each live jail.
constexpr uint32_t UidsFor(uint32_t max_jails) {
  return kFirstJailUid + 2 * max_jails;
}

// True when `uid_map`, the text of /proc/self/uid_map, is that of the host's
// own user namespace, in which every id maps to itself.
bool MapsEveryId(absl::string_view uid_map);

// Chooses the slice for a yard with at least `needed` ids. `first` is the
// configured start. If it is the default and the daemon's user namespace
// doesn't map that range, the upper half of the longest range of mapped ids is
// used instead: the lower half is for the daemon itself and for accounts.
// `uid_map` and `gid_map` are the texts of those files in /proc/self.
// FAILED_PRECONDITION when there are too few ids.
absl::StatusOr<UidSlice> ChooseUidSlice(uid_t first, uint32_t needed,
                                        absl::string_view uid_map,
                                        absl::string_view gid_map);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_
