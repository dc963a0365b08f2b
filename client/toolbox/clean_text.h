#ifndef SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_
#define SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// Some bytes of a program, converted to text.
struct CleanPiece {
  std::string text;  // valid UTF-8 without NUL
  size_t taken = 0;  // number of bytes that it represents
};

// Converts the beginning of `bytes`, giving at most `room` bytes of text: each
// byte that isn't UTF-8 becomes U+FFFD, each NUL U+2400; everything else is
// unchanged.
CleanPiece CleanHead(absl::string_view bytes, size_t room);

// The same for the end of `bytes`.
CleanPiece CleanTail(absl::string_view bytes, size_t room);

// The same for all of `bytes`.
std::string CleanText(absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_
