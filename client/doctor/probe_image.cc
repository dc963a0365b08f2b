// Embeds the built probe, so that the client is a single file.

#include <cstddef>

#include "client/doctor/starters.h"

// The build defines SANDGLASS_PROBE_PATH. The names are global, since GNU ld
// takes two local ones that arm64's clang asks for for one.
asm(R"(
  .section .rodata
  .globl sandglass_probe_begin, sandglass_probe_end
  .hidden sandglass_probe_begin, sandglass_probe_end
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
