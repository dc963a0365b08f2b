#ifndef SANDGLASS_SANDBOX_OS_RANDOM_H_
#define SANDGLASS_SANDBOX_OS_RANDOM_H_

#include <cstddef>

namespace sandglass::os {

// Fills `bytes` with `size` bytes, at most 256, from the kernel's random
// source. Blocks while that source isn't ready yet, which can happen soon after
// the machine's start. Returns false when a signal interrupts this wait or a
// system call filter forbids the call; the bytes are then of no use.
bool FillRandom(void* bytes, size_t size);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_RANDOM_H_
