#ifndef SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_
#define SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::server {

// Returns which packages have files in an image, given the text of Debian's
// package database (/var/lib/dpkg/status): a line "name version architecture"
// for each package except sandglass itself, in the database's order. How far a
// package's installation has come makes no difference (deb822(5), dpkg(1):
// "PACKAGE STATES"), so a daemon that is started while its own package is being
// installed sees the same list as a later one.
std::string PackageList(absl::string_view database);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IMAGES_PACKAGE_LIST_H_
