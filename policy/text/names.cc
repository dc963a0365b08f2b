#include "policy/text/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxName = 32;
constexpr size_t kMaxEnvName = 255;

bool IsLowerOrDigit(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_islower(byte) || absl::ascii_isdigit(byte);
}

}  // namespace

bool IsPolicyName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         absl::ascii_islower(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsLanguageId(std::string_view text) {
  return IsPolicyName(text) && text.find('-') == std::string_view::npos;
}

bool IsSecretName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSecretName &&
         absl::ascii_isupper(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return absl::ascii_isupper(byte) || absl::ascii_isdigit(byte) ||
                  c == '_';
         });
}

bool IsEnvName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxEnvName &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return c == '_' ||
                  absl::ascii_isalnum(static_cast<unsigned char>(c));
         });
}

}  // namespace sandglass::policy
