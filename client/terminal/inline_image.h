#ifndef SANDGLASS_CLIENT_TERMINAL_INLINE_IMAGE_H_
#define SANDGLASS_CLIENT_TERMINAL_INLINE_IMAGE_H_

#include <sys/ioctl.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Pictures in the midst of a terminal's text. They come from programs that
// nobody trusts, and nothing here decodes one: a PNG is handed to the terminal,
// which does. docs/decisions/0058-pictures-in-terminals.md has the reasons.
namespace sandglass::client {

// How a terminal is told to show a picture: by kitty's graphics protocol, or by
// the sequence OSC 1337 of iTerm2.
enum class ImageProtocol { kNone, kKitty, kIterm };

// What the terminal can do whose variables these are; a variable that isn't set
// is empty. kNone within tmux, screen and zellij, which pass nothing on.
ImageProtocol ImageProtocolOf(
    const std::function<std::string(const char*)>& variable);

// The bytes that show this PNG where the cursor is, no larger than the
// terminal: only the chunks that a picture needs, in base64. Empty with kNone,
// for what isn't a PNG, and for one that is too large to be shown.
std::string InlinePng(ImageProtocol protocol, absl::string_view png,
                      const winsize& terminal);

// Shows the pictures of one command.
class InlineImages {
 public:
  InlineImages() = default;  // shows none

  // Asks the environment what `fd` can do: $SANDGLASS_IMAGES is auto (as
  // without it), kitty, iterm or none. None where `fd` isn't a terminal.
  // INVALID_ARGUMENT for another word.
  static absl::StatusOr<InlineImages> For(int fd);

  // The bytes that show this picture there; empty: it isn't shown. After some
  // pictures none is, so that a program can't fill the screen for long.
  std::string Show(absl::string_view picture);

 private:
  int fd_ = -1;
  ImageProtocol protocol_ = ImageProtocol::kNone;
  int shown_ = 0;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_INLINE_IMAGE_H_
