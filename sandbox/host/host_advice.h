#ifndef SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_
#define SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sandbox/host/host_probe.h"

namespace sandglass::sandbox {

// Where the daemon was started, as far as it matters to whoever must mend what
// is missing.
struct Surroundings {
  bool container = false;  // an engine's
  // Rights of the start that root doesn't have here, for example "CHOWN".
  std::vector<std::string> missing_rights;
};

Surroundings LookAround();

// Layers that a jail can be built without.
bool IsExcusable(absl::string_view layer);

// FAILED_PRECONDITION, one line: every required layer that is not available and
// not excused, with its reason; what stands against it, and the page that
// helps. Also where only rights are missing. OK: nothing is.
absl::Status CheckMissing(const HostReport& report, const Surroundings& around);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_
