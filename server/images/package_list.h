#ifndef SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_
#define SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::server {

// Which packages have files in an image, by the text of Debian's package
// database (/var/lib/dpkg/status): a line "name version architecture" for each
// but sandglass itself, in the database's order. How far the installation of
// one has come doesn't matter (deb822(5), dpkg(1): "PACKAGE STATES"): a daemon
// that is started while its own package is being installed sees what a later
// one does.
std::string PackageList(absl::string_view database);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_
