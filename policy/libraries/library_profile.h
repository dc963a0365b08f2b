#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_

#include <string>

#include "policy/libraries/library_policy.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// Reads a profile's key "libraries": "none", as without it, or an object with
// any of the languages "python", "javascript", "go", "ruby" and "java":
//   {"python": {"allow": ["numpy", "requests>=2"], "deny": ["torch"],
//               "offline": true},
//    "javascript": {}}
// Without "allow" all of the language's libraries are allowed. What is wrong
// is recorded in `profile`; the policy then means nothing. `name` is the
// profile's, for messages.
LibraryPolicy ReadLibraries(JsonObject& profile, const std::string& name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_PROFILE_H_
