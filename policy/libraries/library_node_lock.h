#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sandglass::policy {

// One package of a package-lock.json. Only for library_lock_node.cc.

// A package that is needed: its range, as it is written anew.
struct NodeNeed {
  std::string alias;  // the real name, where it is known under another
  std::string range;
};

struct NodePackage {
  std::string name;  // the registry's; its directory may have another
  std::string version;
  std::string integrity;  // empty: none; a bundled one may have none
  std::map<std::string, NodeNeed> needs;     // by the name of its directory
  std::map<std::string, NodeNeed> may_need;  // optional
  std::map<std::string, NodeNeed> peers;     // that have to be there
  std::vector<std::string> bundle;           // names
  bool in_bundle = false;
  // Of os, cpu, libc, bin and hasInstallScript, what is as it should be.
  nlohmann::json rest;
  bool optional = false;  // nothing needs it that has to be there
};

// INVALID_ARGUMENT, as RefuseLock has it, for a path that isn't one of
// node_modules, a link, a version that is none, a need from elsewhere than a
// registry, members of other types.
absl::StatusOr<NodePackage> ReadNodePackage(const std::string& path,
                                            const nlohmann::json& package);

// The package as npm reads it, without an address.
std::string NodePackageText(const std::string& path,
                            const NodePackage& package);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_NODE_LOCK_H_
