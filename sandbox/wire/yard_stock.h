#ifndef SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_
#define SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sandglass::sandbox {

// What a yard has at a moment, by its spawner's word.
struct YardStock {
  std::string kind;     // of its jails
  uint32_t jails = 0;   // handed out and not over
  uint32_t spares = 0;  // made, and waiting to be handed out
  // Whose init is gone, and whose groups are still to be removed; and for how
  // long that has been so of the one that takes longest.
  uint32_t ending = 0;
  absl::Duration longest_ending;
  // Of jails, on the v2 hierarchy, and those among them that no jail has.
  uint32_t groups = 0;
  uint32_t stray_groups = 0;
  // In the yard, jails' included; the spawner's own descriptors and mounts.
  uint32_t processes = 0;
  uint32_t open_descriptors = 0;
  uint32_t mounts = 0;
  // Zygotes that were started, those that ended without being told to, and
  // whether one takes orders now.
  uint64_t zygote_starts = 0;
  uint64_t zygote_deaths = 0;
  bool zygote_serves = false;
  // Times that a part of a jail could not be made ahead, since the start; and
  // why the last one could not, empty once one could: printable ASCII, at most
  // kMostFailingBytes.
  uint64_t setup_failures = 0;
  std::string failing;
};
inline constexpr size_t kMostFailingBytes = 300;

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_YARD_STOCK_H_
