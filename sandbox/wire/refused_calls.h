#ifndef SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_
#define SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sandglass::sandbox {

// System calls that a jail's filter refused, in a sandbox that traces them. The
// jail's init counts them, so code that has taken over the init can report
// anything.

// Stands for an argument that isn't an int, and so is an address.
inline constexpr uint64_t kAddressArgument = uint64_t{1} << 32;

// Equal calls of one process and of the processes that it started.
struct RefusedCall {
  uint32_t architecture = 0;  // AUDIT_ARCH_*
  int number = 0;             // the call's number on that architecture
  int error = 0;              // the errno that it got
  // The first three arguments, ints as unsigned 64-bit numbers. Whether the
  // call has that many arguments isn't known.
  uint64_t arguments[3] = {};
  uint64_t count = 0;
};

// How many different calls are kept for one process.
inline constexpr size_t kMaxRefusedCalls = 64;

struct RefusedCalls {
  std::vector<RefusedCall> calls;  // ordered by their first occurrence
  uint64_t others = 0;             // number of calls that aren't in `calls`
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_REFUSED_CALLS_H_
