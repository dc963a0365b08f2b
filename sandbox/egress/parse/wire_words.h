#ifndef SANDGLASS_SANDBOX_EGRESS_PARSE_WIRE_WORDS_H_
#define SANDGLASS_SANDBOX_EGRESS_PARSE_WIRE_WORDS_H_

#include <string>
#include <string_view>

#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::egress {

using policy::AbslView;
using policy::Quoted;

// Whether it is a control character of ASCII that no line of HTTP may have; a
// tab is none.
inline bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

// ASCII letters become small; other bytes stay.
std::string LowerAscii(std::string_view text);
// Whether the texts are the same except for the case of ASCII letters.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_PARSE_WIRE_WORDS_H_
