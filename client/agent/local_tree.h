#ifndef SANDGLASS_CLIENT_AGENT_LOCAL_TREE_H_
#define SANDGLASS_CLIENT_AGENT_LOCAL_TREE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::client {

struct LocalFile {
  std::string path;  // in the sandbox, absolute
  std::string content;
  bool executable = false;
};

// A file, or all regular files below a directory, to be put below `target`
// under its own name ("notes", "data/a.csv"). Symbolic links are followed where
// they are named, and left out below. INVALID_ARGUMENT for what can't be read,
// for more than 10,000 files, or 256 MiB.
absl::StatusOr<std::vector<LocalFile>> ReadLocalTree(const std::string& source,
                                                     const std::string& target);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_LOCAL_TREE_H_
