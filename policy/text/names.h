#ifndef SANDGLASS_POLICY_TEXT_NAMES_H_
#define SANDGLASS_POLICY_TEXT_NAMES_H_

#include <cstddef>
#include <string_view>

namespace sandglass::policy {

// [a-z][a-z0-9-]{0,31}: profiles, system call policies.
bool IsPolicyName(std::string_view text);

// [a-z][a-z0-9]{0,31}: languages.
bool IsLanguageId(std::string_view text);

// [A-Za-z_][A-Za-z0-9_]*, at most 255 bytes.
bool IsEnvName(std::string_view text);

inline constexpr size_t kMaxSecretName = 64;  // bytes

// [A-Z][A-Z0-9_]{0,63}: secrets.
bool IsSecretName(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_NAMES_H_
