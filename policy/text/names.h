#ifndef SANDGLASS_POLICY_TEXT_NAMES_H_
#define SANDGLASS_POLICY_TEXT_NAMES_H_

#include <cstddef>
#include <string_view>

namespace sandglass::policy {

// Names of profiles and of system call policies: [a-z][a-z0-9-]{0,31}.
bool IsPolicyName(std::string_view text);

// Ids of languages: [a-z][a-z0-9]{0,31}.
bool IsLanguageId(std::string_view text);

// Names of environment variables: [A-Za-z_][A-Za-z0-9_]*, at most 255 bytes.
bool IsEnvName(std::string_view text);

inline constexpr size_t kMaxSecretName = 64;  // bytes

// Names of secrets: [A-Z][A-Z0-9_]{0,63}.
bool IsSecretName(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_NAMES_H_
