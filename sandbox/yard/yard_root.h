#ifndef SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_
#define SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "policy/language/image.h"

namespace sandglass::sandbox {

// FAILED_PRECONDITION unless the image's root is a directory that only root can
// change, that jails can enter, and that has a /usr of its own with all
// programs and libraries in it (merged /usr).
absl::Status CheckImage(const policy::Image& image);

// Builds a yard's root at `directory` (which must exist): a small tmpfs with
// `/images/default`, the read-only root of which every jail gets a copy, and
// the empty places that are needed to make a jail. The default image consists
// of the host's /usr, an /etc of our own with the few parts of the host's that
// runtimes read (image_etc.h; copied now, so that later changes on the host
// take effect after a restart), and a /dev with five harmless devices. Beside
// it, `/images` has the same for each of `images`, by name, with their own /usr
// and /etc and nothing of the host's. `prepared`, unless empty, is a directory
// of the host that every image shows as kPreparedInJail, read-only and without
// execution; what is put there later shows too. `layers`, unless empty, is a
// directory of the host with one directory for each layer: the yard sees it as
// kYardLayers, but no image does; what is put there later shows too.
// `authority`, unless empty, is a certificate in PEM: every image has it as
// kAuthorityInJail, and, together with those that the image trusts, as
// kTrustedInJail and kJvmTrustInJail. `host_etc` is that of ImageSources.
// Preconditions: root, in a mount namespace of its own with no propagation to
// the host.
absl::Status BuildYardRoot(const std::string& directory,
                           const std::string& prepared,
                           const std::string& layers = "",
                           const std::vector<policy::Image>& images = {},
                           const std::string& authority = "",
                           const std::vector<std::string>& host_etc = {});

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_ROOT_H_
