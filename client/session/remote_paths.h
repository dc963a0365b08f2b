#ifndef SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_
#define SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// The last component of a path, without slashes behind it. Empty where that is
// no name: "/", ".", "..", "dir/.".
std::string LastName(absl::string_view path);

// "dir" and "name" as "dir/name"; nothing and "." add nothing.
std::string JoinPath(absl::string_view directory, absl::string_view name);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_
