#ifndef SANDGLASS_POLICY_TEXT_UTF8_H_
#define SANDGLASS_POLICY_TEXT_UTF8_H_

#include <string_view>

namespace sandglass::policy {

// True for well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool IsValidUtf8(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_UTF8_H_
