#ifndef SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_
#define SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::client {

// A piece of a program's bytes as text.
struct CleanPiece {
  std::string text;  // valid UTF-8 without NUL
  size_t taken = 0;  // bytes that it stands for
};

// The beginning of `bytes`, at most `room` bytes of text: each byte that is no
// UTF-8 becomes U+FFFD, each NUL U+2400, all else stays.
CleanPiece CleanHead(absl::string_view bytes, size_t room);

// The same of the end.
CleanPiece CleanTail(absl::string_view bytes, size_t room);

// All of it.
std::string CleanText(absl::string_view bytes);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_CLEAN_TEXT_H_
