#include "sandbox/os/random.h"

#include <sys/random.h>
#include <sys/types.h>

namespace sandglass::os {

bool FillRandom(void* bytes, size_t size) {
  // For up to 256 bytes getrandom never returns fewer than asked for, once the
  // pool is filled.
  return ::getrandom(bytes, size, 0) == static_cast<ssize_t>(size);
}

}  // namespace sandglass::os
