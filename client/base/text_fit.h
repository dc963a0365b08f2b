#ifndef SANDGLASS_CLIENT_BASE_TEXT_FIT_H_
#define SANDGLASS_CLIENT_BASE_TEXT_FIT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Text for lines of a given width. Texts are as VisibleText makes them: UTF-8
// without control characters.

// How many places text takes on a terminal: two for characters of East Asian
// scripts and pictures, none for marks on the one before.
size_t DisplayWidth(absl::string_view text);

// The text, or as much of its beginning as fits with "…" behind it.
std::string FitTo(absl::string_view text, size_t width);

// The text and spaces behind it, `width` places together; not cut.
std::string PadTo(absl::string_view text, size_t width);

// Lines of at most `width` places, broken at spaces, or within a word that is
// longer than a line. Width 0: one line.
std::vector<std::string> WrapText(absl::string_view text, size_t width);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TEXT_FIT_H_
