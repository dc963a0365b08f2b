#ifndef SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_
#define SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandglass::policy {

// A character that people can't see, or that changes the order in which they
// see others.
struct HiddenCharacter {
  std::string name;  // for example "U+202E (right-to-left override)"
  uint32_t line;     // of the first one, counted from 1
  uint32_t column;   // from 1, in bytes
  uint32_t count;    // of all such characters
};

// Looks for characters that make a program look like a different one to people:
// characters that reverse the direction of text ("Trojan Source",
// CVE-2021-42574), characters without width, tags, control characters, and a
// character that only some languages regard as a line end. A byte order mark at
// the very beginning is allowed.
std::optional<HiddenCharacter> FindHiddenText(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_
