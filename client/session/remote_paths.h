#ifndef SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_
#define SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// The last component of a path, without trailing slashes. Empty when that isn't
// a name: "/", ".", "..", "dir/.".
std::string LastName(absl::string_view path);

// Joins "dir" and "name" to "dir/name"; an empty text and "." add nothing.
std::string JoinPath(absl::string_view directory, absl::string_view name);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_REMOTE_PATHS_H_
