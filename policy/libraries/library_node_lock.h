#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sandglass::policy {

// A package in a package-lock.json. Only for library_lock_node.cc.

// A package that another one needs: its version range, in the form in which we
// write it.
struct NodeNeed {
  std::string alias;  // the real name, if it goes by another
  std::string range;
};

struct NodePackage {
  std::string name;  // in the registry; its directory may differ
  std::string version;
  std::string integrity;  // empty: none, as a bundled package may have
  std::map<std::string, NodeNeed> needs;     // by the directories' names
  std::map<std::string, NodeNeed> may_need;  // the optional ones
  std::map<std::string, NodeNeed> peers;     // peers that must be there
  std::vector<std::string> bundle;           // names
  bool in_bundle = false;
  // Those members of os, cpu, libc, bin and hasInstallScript that are valid.
  nlohmann::json rest;
  bool optional = false;  // only optional dependencies lead to it
};

// INVALID_ARGUMENT in the form of RefuseLock: for a path that isn't one in
// node_modules, a link, an invalid version, a dependency that doesn't come from
// a registry, or members of other types.
absl::StatusOr<NodePackage> ReadNodePackage(const std::string& path,
                                            const nlohmann::json& package);

// The package in the form that npm reads, without an address.
std::string NodePackageText(const std::string& path,
                            const NodePackage& package);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_
