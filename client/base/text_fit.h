#ifndef SANDGLASS_CLIENT_BASE_TEXT_FIT_H_
#define SANDGLASS_CLIENT_BASE_TEXT_FIT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Fits text to lines of a given width. Texts have the form that VisibleText
// makes: UTF-8 without control characters.

// How many columns a text takes on a terminal: two for characters of East Asian
// scripts and pictures, none for marks that combine with the character before.
size_t DisplayWidth(absl::string_view text);

// The text, or as much of its beginning as fits with "…" after it.
std::string FitTo(absl::string_view text, size_t width);

// The text followed by spaces, `width` columns in all; never cut.
std::string PadTo(absl::string_view text, size_t width);

// Breaks the text into lines of at most `width` columns, at spaces, or inside
// of a word that is longer than a line. Width 0: one line.
std::vector<std::string> WrapText(absl::string_view text, size_t width);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_TEXT_FIT_H_
