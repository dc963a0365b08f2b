#ifndef SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_
#define SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sandglass::sandbox {

// System calls that a jail's filter refused, in a sandbox that traces them. A
// jail's init has counted them, so whoever took it over can say anything.

// Stands for an argument that is no int, so an address.
inline constexpr uint64_t kAddressArgument = uint64_t{1} << 32;

// Equal calls of one process and what it started.
struct RefusedCall {
  uint32_t architecture = 0;  // AUDIT_ARCH_*
  int number = 0;             // there
  int error = 0;              // the errno that it got
  // The first three, ints as unsigned 64-bit numbers; whether the call takes
  // them isn't known.
  uint64_t arguments[3] = {};
  uint64_t count = 0;
};

// Different ones that are kept of one process.
inline constexpr size_t kMostRefusedCalls = 64;

struct RefusedCalls {
  std::vector<RefusedCall> calls;  // in the order of their first time
  uint64_t others = 0;             // calls beyond those that are kept
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_
