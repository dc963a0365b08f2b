#ifndef SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_
#define SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sandglass::policy {

// A character that people don't see, or that changes the order in which they
// see others.
struct HiddenCharacter {
  std::string name;  // for example "U+202E (right-to-left override)"
  uint32_t line;     // of the first, from 1
  uint32_t column;   // from 1, in bytes
  uint32_t count;    // of all such characters
};

// Looks for characters that make a program look like another one to people:
// those that turn the direction of text around ("Trojan Source",
// CVE-2021-42574), those of no width, tags, control characters, and a line end
// that only some languages take for one. A byte order mark at the very start
// is none.
std::optional<HiddenCharacter> FindHiddenText(std::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_HIDDEN_TEXT_H_
