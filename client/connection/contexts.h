#ifndef SANDGLASS_CLIENT_CONNECTION_CONTEXTS_H_
#define SANDGLASS_CLIENT_CONNECTION_CONTEXTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection/endpoint.h"

namespace sandglass::client {

// Daemons by names that the user gave them.
struct Contexts {
  std::string current;  // a name of by_name; empty: none is in use
  std::map<std::string, Endpoint> by_name;
};

// $XDG_CONFIG_HOME/sandglass/config, else ~/.config/sandglass/config; empty
// when there is neither.
std::string ContextsPath(const Variables& variables);

// None when there is no file; the error of a broken one says which file, where
// in it, and what to do.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);

// Replaces the file in one step; it and its directory are for their owner only.
absl::Status WriteContexts(const std::string& path, const Contexts& contexts);

// At most 63 of a-z, A-Z, 0-9, "-", "_" and ".", of which the first is a letter
// or a digit.
absl::Status CheckContextName(const std::string& name);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CONTEXTS_H_
