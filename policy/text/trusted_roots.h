#ifndef SANDGLASS_POLICY_TEXT_TRUSTED_ROOTS_H_
#define SANDGLASS_POLICY_TEXT_TRUSTED_ROOTS_H_

#include <string>

namespace sandglass::policy {

// The file in PEM with the certificates that this machine trusts, for programs
// whose libraries came from elsewhere and look in a place that isn't there;
// empty where the machine is as Debian has it, so that libraries find them, or
// where none of the usual places is. `root` is put before each path, for tests.
std::string TrustedRootsElsewhere(const std::string& root = "");

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_TRUSTED_ROOTS_H_
