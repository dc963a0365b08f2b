#ifndef SANDGLASS_TESTS_PAYLOADS_HOSTILE_BOMBS_H_
#define SANDGLASS_TESTS_PAYLOADS_HOSTILE_BOMBS_H_

#include <stdio.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"

namespace sandglass::hostile {

inline constexpr size_t kMiB = size_t{1} << 20;

// One more; 0 or the errno of the refusal. `i` counts from 0.
using Once = int (*)(long i);

struct NamedBomb {
  const char* name;
  Once once;
};

// A name of this process's own.
inline void Name(char* name, size_t size, const char* base, long i) {
  snprintf(name, size, "%s-%d-%ld", base, static_cast<int>(getpid()), i);
}

// A mebibyte to write.
const void* Block();

// What waits in the kernel, and sizes beyond measure (bombs_kernel.cc);
// nullptr where there is no such bomb.
Once FindKernelBomb(const char* name);

}  // namespace sandglass::hostile

#endif  // SANDGLASS_TESTS_PAYLOADS_HOSTILE_BOMBS_H_
