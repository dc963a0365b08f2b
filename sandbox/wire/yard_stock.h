#ifndef SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_
#define SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sandglass::sandbox {

// What a yard has at one moment, as reported by its spawner.
struct YardStock {
  // Of its jails; with "-2" and so on from the second yard of a kind on.
  std::string kind;
  uint32_t jails = 0;   // handed out and not yet ended
  uint32_t spares = 0;  // made ahead, not yet handed out
  // Jails whose init is gone but whose control groups are still to be removed,
  // and for how long that has been so for the one that takes longest.
  uint32_t ending = 0;
  absl::Duration longest_ending;
  // Control groups of jails on the v2 hierarchy, and how many of them belong to
  // no jail.
  uint32_t groups = 0;
  uint32_t stray_groups = 0;
  // Processes in the yard, including those of jails; the spawner's own open
  // descriptors and mounts.
  uint32_t processes = 0;
  uint32_t open_descriptors = 0;
  uint32_t mounts = 0;
  // How many zygotes were started, how many ended without being told to, and
  // whether one accepts orders now.
  uint64_t zygote_starts = 0;
  uint64_t zygote_deaths = 0;
  bool zygote_serves = false;
  // How often a part of a jail could not be made ahead since the start, and why
  // that failed the last time: printable ASCII, at most kMaxFailingBytes. The
  // reason becomes empty once a part could be made again.
  uint64_t setup_failures = 0;
  std::string failing;
};
inline constexpr size_t kMaxFailingBytes = 300;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_
