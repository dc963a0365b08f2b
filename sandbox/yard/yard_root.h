#ifndef SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_
#define SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "policy/language/image.h"

namespace sandglass::sandbox {

// What of an image's /etc is copied into jails' roots, by paths that are there
// now; `root` is where the image is, "" for the host's.
std::vector<std::string> ImageSources(const std::string& root = "");

// FAILED_PRECONDITION unless the image's root is a directory that only root can
// change, with a /usr of its own that has all (merged /usr) and that jails can
// enter.
absl::Status CheckImage(const policy::Image& image);

// Builds a yard's root at `directory` (which must exist): a small tmpfs with
// `/images/default`, the read-only root that every jail gets a copy of, and the
// empty places that a jail's making needs. The image is the host's /usr, a /etc
// of our own with the few parts of the host's that runtimes read (copied now,
// so later changes on the host show after a restart), and a /dev with five
// harmless devices.
// Beside it, in `/images`, is the same of each of `images`, by name, with their
// own /usr and /etc and nothing of the host's.
// `prepared`, unless empty, is a directory of the host that shows in every
// image as kPreparedInJail, read-only and without execution; what is put
// there later shows as well. `layers`, unless empty, is a directory of the host
// with one for each layer: the yard sees it as kYardLayers, no image does; what
// comes later shows as well. `authority`, unless empty, is a certificate in
// PEM: every image has it as kAuthorityInJail, and behind those that the image
// trusts as kTrustedInJail and kJvmTrustInJail. Preconditions: root, in a mount
// namespace of its own with no propagation to the host.
absl::Status BuildYardRoot(const std::string& directory,
                           const std::string& prepared,
                           const std::string& layers = "",
                           const std::vector<policy::Image>& images = {},
                           const std::string& authority = "");

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_
