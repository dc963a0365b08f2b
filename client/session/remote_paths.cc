#include "client/session/remote_paths.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sandglass::client {

std::string LastName(absl::string_view path) {
  while (absl::EndsWith(path, "/")) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash != absl::string_view::npos) path.remove_prefix(slash + 1);
  return path == "." || path == ".." ? "" : std::string(path);
}

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty() || directory == ".") return std::string(name);
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                      name);
}

}  // namespace sandglass::client
