#ifndef SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_
#define SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sandbox/host/host_probe.h"

namespace sandglass::sandbox {

// Where the daemon was started, as far as it matters to the person who has to
// provide what is missing.
struct Surroundings {
  bool container = false;  // of a container engine
  bool chroot = false;     // chroot(8) was used
  // Capabilities that the start needs and root lacks here, for example "CHOWN".
  std::vector<std::string> missing_rights;
};

Surroundings ReadSurroundings();

// Whether a jail can be made without this layer, if the operator agrees.
bool IsExcusable(absl::string_view layer);

// FAILED_PRECONDITION when required layers are neither available nor excused,
// or when only capabilities are missing. The message is one line: it names each
// such layer with the reason, what prevents it, and the page that helps.
absl::Status CheckMissing(const HostReport& report, const Surroundings& around);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_HOST_ADVICE_H_
