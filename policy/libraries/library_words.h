#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "policy/libraries/libraries.h"

namespace sandglass::policy {

inline constexpr size_t kMostFailureWords = 2048;  // bytes

// One line of what an installer prints, for people: printable ASCII, without
// a terminal's colours and without the names and passwords of addresses, cut
// where it is long. A "?" stands for each other byte.
std::string CleanInstallerLine(std::string_view line);

// Whether a line tells how far an installer is, such as pip's "Collecting six".
bool IsLibraryProgress(Ecosystem ecosystem, std::string_view line);

// Why an installer failed, in its own words: of its output first the lines that
// say so, then the last of the others, each once and clean as above, at most
// kMostFailureWords altogether. Never empty.
std::string LibraryFailureWords(Ecosystem ecosystem, int exit_code,
                                std::string_view output);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_WORDS_H_
