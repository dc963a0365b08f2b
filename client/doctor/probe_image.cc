// Embeds the built probe, so that the client is a single file.

#include <cstddef>

#include "client/doctor/starters.h"

// The build defines SANDGLASS_PROBE_PATH.
asm(R"(
  .section .rodata
  .balign 16
sandglass_probe_begin:
  .incbin ")" SANDGLASS_PROBE_PATH R"("
sandglass_probe_end:
  .previous
)");

// NOLINTBEGIN(readability-identifier-naming): these aren't values
extern "C" {
extern const char begin asm("sandglass_probe_begin");
extern const char end asm("sandglass_probe_end");
}
// NOLINTEND(readability-identifier-naming)

namespace sandglass::client {

absl::string_view ProbeImage() {
  return absl::string_view(&begin, static_cast<size_t>(&end - &begin));
}

}  // namespace sandglass::client
