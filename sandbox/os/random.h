#ifndef SANDGLASS_SANDBOX_OS_RANDOM_H_
#define SANDGLASS_SANDBOX_OS_RANDOM_H_

#include <cstddef>

namespace sandglass::os {

// Fills `size` bytes, at most 256, from the kernel's random source. Waits while
// that isn't ready yet, soon after the machine's start. False when a signal
// interrupted this wait or a filter of system calls forbids the call; the bytes
// then hold nothing of use.
bool FillRandom(void* bytes, size_t size);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_RANDOM_H_
