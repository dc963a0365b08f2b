#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "policy/libraries/libraries.h"

namespace sandglass::policy {

inline constexpr size_t kMaxFailureWords = 2048;  // bytes

// A line of an installer's output for people: printable ASCII, without a
// terminal's colours and without names and passwords in addresses, cut if it is
// long. Each other byte becomes a "?".
std::string CleanInstallerLine(std::string_view line);

// Whether a line reports an installer's progress, for example pip's "Collecting
// six".
bool IsLibraryProgress(Ecosystem ecosystem, std::string_view line);

// Why an installer failed, in its own words: first the lines of its output that
// say so, then the last of the other lines, each once and cleaned as above, at
// most kMaxFailureWords in all. Never empty.
std::string LibraryFailureWords(Ecosystem ecosystem, int exit_code,
                                std::string_view output);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_
