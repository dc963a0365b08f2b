#ifndef SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_IMAGE_H_

#include <string>
#include <string_view>

namespace sandglass::policy {

// The image that is always there: the host's /usr.
inline constexpr std::string_view kHostImage = "host";

// A root file system on the host that jails may have in place of the host's.
struct Image {
  std::string name;  // [a-z][a-z0-9-]*
  std::string root;  // absolute
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_IMAGE_H_
