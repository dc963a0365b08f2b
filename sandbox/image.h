#ifndef SANDGLASS_SANDBOX_IMAGE_H_
#define SANDGLASS_SANDBOX_IMAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sandglass::sandbox {

// What of the host's /etc is copied into images, by paths that are there now.
std::vector<std::string> ImageSources();

// Builds a yard's root at `directory` (which must exist): a small tmpfs with
// `/images/default`, the read-only root that every jail gets a copy of, and the
// empty places that a jail's making needs. The image is the host's /usr, a /etc
// of our own with the few parts of the host's that runtimes read (copied now,
// so later changes on the host show after a restart), and a /dev with five
// harmless devices.
// `prepared`, unless empty, is a directory of the host that shows in the image
// as kPreparedInJail, read-only and without execution; what is put there later
// shows as well.
// Preconditions: root, in a mount namespace of its own with no propagation to
// the host.
absl::Status BuildYardRoot(const std::string& directory,
                           const std::string& prepared);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_IMAGE_H_
