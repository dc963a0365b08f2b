#ifndef SANDGLASS_SANDBOX_WIRE_SPARSE_H_
#define SANDGLASS_SANDBOX_WIRE_SPARSE_H_

#include <cstring>

#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// The block size in which file systems of pages keep unwritten parts of a file
// as holes.
inline constexpr size_t kHoleBytes = 4096;

inline bool AllZero(absl::string_view data) {
  return data.empty() ||
         (data[0] == '\0' &&
          std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0);
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_SPARSE_H_
