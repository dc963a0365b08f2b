#ifndef SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_IMAGE_H_

#include <string>
#include <string_view>

namespace sandglass::policy {

// The image that always exists: the host's /usr.
inline constexpr std::string_view kHostImage = "host";

// A root file system on the host that jails may use in place of the host's own.
struct Image {
  std::string name;  // [a-z][a-z0-9-]*
  std::string root;  // absolute
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
