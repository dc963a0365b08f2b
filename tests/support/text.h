#ifndef SANDGLASS_TESTS_SUPPORT_TEXT_H_
#define SANDGLASS_TESTS_SUPPORT_TEXT_H_

#include <string>
#include <vector>

namespace sandglass::testing {

// The lines of a text, without empty ones.
std::vector<std::string> Lines(const std::string& text);

// The words of a text, parted by blanks, tabs and line ends.
std::vector<std::string> Words(const std::string& text);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_TEXT_H_
