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

// Reads a file, or all regular files below a directory, which are to be placed
// below `target` under their own names ("notes", "data/a.csv"). Symbolic links
// are followed in `source` itself, and left out below it. INVALID_ARGUMENT for
// what can't be read, for more than 10,000 files, or more than 256 MiB.
absl::StatusOr<std::vector<LocalFile>> ReadLocalTree(const std::string& source,
                                                     const std::string& target);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_LOCAL_TREE_H_
