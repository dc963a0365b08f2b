#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_

#include <string>

#include "policy/libraries/library_policy.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// Reads a profile's key "libraries": "none", which is the default, or an object
// with any of the languages "python", "javascript", "go", "ruby" and "java":
//   {"python": {"allow": ["numpy", "requests>=2"], "deny": ["torch"],
//               "offline": true},
//    "javascript": {}}
// Without "allow", all libraries of the language are allowed. Errors are
// recorded in `profile`; the policy must not be used then. `name` is the
// profile's, for messages.
LibraryPolicy ReadLibraries(JsonObject& profile, const std::string& name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_
