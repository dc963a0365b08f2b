#ifndef SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_
#define SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// First id of a yard that jails use; 0 is the spawner itself.
inline constexpr uid_t kFirstJailUid = 1000;

// Ids (uids and gids alike) that belong to one yard, as the daemon's user
// namespace numbers them.
struct UidSlice {
  uid_t first = 1879048192;
  uint32_t count = 65536;
};

// How many ids a yard must have: the spawner's, and two for each live jail.
constexpr uint32_t UidsFor(uint32_t max_jails) {
  return kFirstJailUid + 2 * max_jails;
}

// Whether this is the text of /proc/self/uid_map in the host's own user
// namespace: every id means itself.
bool MapsEveryId(absl::string_view uid_map);

// The slice for a yard with at least `needed` ids. `first` is what is
// configured; where the daemon's user namespace doesn't map that and it is the
// default, the upper half of the longest run of mapped ids is taken: the lower
// one is for the daemon itself and for accounts. `uid_map` and `gid_map` are
// the texts of those files in /proc/self. FAILED_PRECONDITION when there are
// too few ids.
absl::StatusOr<UidSlice> ChooseUidSlice(uid_t first, uint32_t needed,
                                        absl::string_view uid_map,
                                        absl::string_view gid_map);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_UID_SLICE_H_
