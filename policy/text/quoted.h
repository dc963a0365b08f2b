#ifndef SANDGLASS_POLICY_TEXT_QUOTED_H_
#define SANDGLASS_POLICY_TEXT_QUOTED_H_

#include <string>
#include <string_view>

namespace sandglass::policy {

// Puts `text` in double quotes, escapes every byte outside printable ASCII as
// in C, and cuts it to 80 of its bytes. Safe for terminals, logs and protobuf
// strings.
std::string Quoted(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_QUOTED_H_
