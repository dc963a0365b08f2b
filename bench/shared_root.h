#ifndef SANDGLASS_BENCH_SHARED_ROOT_H_
#define SANDGLASS_BENCH_SHARED_ROOT_H_

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::bench {

// What the contenders find on this machine.
struct SharedRoot {
  std::string rootfs;   // /usr and /etc of the host, read-only, and little else
  std::string scratch;  // a tmpfs for whatever the contenders keep
  std::string home;     // in there, for the caches of a user
  std::string cgroup_layout;  // "v1", "v2", or what was done about a hybrid
};

// Gives the calling process a mount namespace of its own and builds the root in
// it, below `directory` (an empty one). The mounts end with the process.
// Preconditions: root; single-threaded.
absl::StatusOr<SharedRoot> BuildSharedRoot(const std::string& directory);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_SHARED_ROOT_H_
