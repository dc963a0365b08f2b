#include "client/terminal/inline_image.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/terminal_filter.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

constexpr char kVariable[] = "SANDGLASS_IMAGES";
constexpr char kSignature[] = "\x89PNG\r\n\x1a\n";
// A terminal needs 4 bytes for each pixel, whatever the file's size is.
constexpr uint32_t kMaxSide = 10'000;
constexpr uint64_t kMaxPixels = uint64_t{16} << 20;
constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr int kMaxShown = 20;
// What the protocol of kitty allows in one sequence.
constexpr size_t kKittyPart = 4096;
// The size of a character where the terminal doesn't say it.
constexpr uint32_t kUsualWidth = 8;
constexpr uint32_t kUsualHeight = 16;

struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::string png;
};

uint32_t NumberAt(absl::string_view bytes, size_t place) {
  uint32_t number = 0;
  for (size_t i = place; i < place + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

bool IsNeeded(absl::string_view type) {
  return type == "IHDR" || type == "PLTE" || type == "tRNS" || type == "IDAT" ||
         type == "IEND";
}

// Keeps the chunks that a picture needs. The others can hold compressed text,
// colour profiles and animations, which are more for a terminal to get wrong.
std::optional<Picture> ReadPng(absl::string_view bytes) {
  constexpr size_t kFrame = 12;  // a chunk's length, type and checksum
  constexpr size_t kHeader = 13;
  if (bytes.size() > kMaxBytes || !absl::ConsumePrefix(&bytes, kSignature)) {
    return std::nullopt;
  }
  Picture picture;
  picture.png = kSignature;
  while (bytes.size() >= kFrame) {
    const size_t length = NumberAt(bytes, 0);
    if (length > bytes.size() - kFrame) return std::nullopt;
    const absl::string_view type = bytes.substr(4, 4);
    if ((type == "IHDR") != (picture.width == 0)) return std::nullopt;
    if (type == "IHDR") {
      if (length != kHeader) return std::nullopt;
      picture.width = NumberAt(bytes, 8);
      picture.height = NumberAt(bytes, 12);
      if (picture.width == 0 || picture.width > kMaxSide ||
          picture.height == 0 || picture.height > kMaxSide ||
          uint64_t{picture.width} * picture.height > kMaxPixels) {
        return std::nullopt;
      }
    }
    if (IsNeeded(type)) {
      absl::StrAppend(&picture.png, bytes.substr(0, length + kFrame));
    }
    if (type == "IEND") return picture;
    bytes.remove_prefix(length + kFrame);
  }
  return std::nullopt;
}

// Which side of the picture has to be fitted, and to how many characters. The
// terminal keeps its proportions.
struct Fit {
  uint32_t columns = 0;  // 0: not by this side
  uint32_t rows = 0;
};

Fit FitOf(const Picture& picture, const winsize& terminal) {
  const uint32_t columns = terminal.ws_col > 0 ? terminal.ws_col : 80;
  const uint32_t all_rows = terminal.ws_row > 0 ? terminal.ws_row : 24;
  // The line before it stays in sight.
  const uint32_t rows = all_rows > 2 ? all_rows - 2 : 1;
  const uint64_t most_width =
      terminal.ws_xpixel > 0 ? terminal.ws_xpixel : columns * kUsualWidth;
  const uint64_t most_height =
      terminal.ws_ypixel > 0 ? uint64_t{terminal.ws_ypixel} * rows / all_rows
                             : rows * kUsualHeight;
  if (picture.width <= most_width && picture.height <= most_height) return {};
  const bool is_wide =
      picture.width * most_height >= picture.height * most_width;
  return is_wide ? Fit{columns, 0} : Fit{0, rows};
}

std::string KittyBytes(const Picture& picture, const Fit& fit) {
  const std::string text = absl::Base64Escape(picture.png);
  std::string out;
  for (size_t place = 0; place < text.size(); place += kKittyPart) {
    absl::StrAppend(&out, "\x1b_G");
    if (place == 0) {
      absl::StrAppend(&out, "a=T,f=100,");
      if (fit.columns > 0) absl::StrAppend(&out, "c=", fit.columns, ",");
      if (fit.rows > 0) absl::StrAppend(&out, "r=", fit.rows, ",");
    }
    // q=2: the terminal answers nothing, which would be typed into the shell.
    absl::StrAppend(&out, "q=2,m=", place + kKittyPart < text.size() ? 1 : 0,
                    ";", text.substr(place, kKittyPart), "\x1b\\");
  }
  return out;
}

std::string ItermBytes(const Picture& picture, const Fit& fit) {
  const auto side = [](uint32_t characters) {
    return characters > 0 ? absl::StrCat(characters) : std::string("auto");
  };
  return absl::StrCat(
      "\x1b]1337;File=inline=1;size=", picture.png.size(),
      ";width=", side(fit.columns), ";height=", side(fit.rows),
      ";preserveAspectRatio=1:", absl::Base64Escape(picture.png), "\a");
}

}  // namespace

ImageProtocol ImageProtocolOf(
    const std::function<std::string(const char*)>& variable) {
  const std::string term = variable("TERM");
  const std::string program = variable("TERM_PROGRAM");
  for (const char* between : {"TMUX", "STY", "ZELLIJ"}) {
    if (!variable(between).empty()) return ImageProtocol::kNone;
  }
  // On another machine the variables above are not there, but TERM is.
  if (term.empty() || term == "dumb" || absl::StartsWith(term, "screen") ||
      absl::StartsWith(term, "tmux")) {
    return ImageProtocol::kNone;
  }
  if (term == "xterm-kitty" || term == "xterm-ghostty" ||
      program == "ghostty") {
    return ImageProtocol::kKitty;
  }
  // iTerm2 sets LC_TERMINAL because ssh passes it on.
  static constexpr std::array<absl::string_view, 3> kLikeIterm = {
      "iTerm.app", "WezTerm", "mintty"};
  if (variable("LC_TERMINAL") == "iTerm2" ||
      std::find(kLikeIterm.begin(), kLikeIterm.end(), program) !=
          kLikeIterm.end()) {
    return ImageProtocol::kIterm;
  }
  return variable("KITTY_WINDOW_ID").empty() ? ImageProtocol::kNone
                                             : ImageProtocol::kKitty;
}

std::string InlinePng(ImageProtocol protocol, absl::string_view png,
                      const winsize& terminal) {
  if (protocol == ImageProtocol::kNone) return "";
  const std::optional<Picture> picture = ReadPng(png);
  if (!picture) return "";
  const Fit fit = FitOf(*picture, terminal);
  return protocol == ImageProtocol::kKitty ? KittyBytes(*picture, fit)
                                           : ItermBytes(*picture, fit);
}

absl::StatusOr<InlineImages> InlineImages::For(int fd) {
  const std::string word = EnvironmentVariable(kVariable);
  InlineImages images;
  images.fd_ = fd;
  if (word.empty() || word == "auto") {
    images.protocol_ = ImageProtocolOf(EnvironmentVariable);
  } else if (word == "kitty") {
    images.protocol_ = ImageProtocol::kKitty;
  } else if (word == "iterm") {
    images.protocol_ = ImageProtocol::kIterm;
  } else if (word != "none") {
    return absl::InvalidArgumentError(
        absl::StrCat(kVariable, " '", VisibleText(word),
                     "': write auto, kitty, iterm or none"));
  }
  if (::isatty(fd) != 1) images.protocol_ = ImageProtocol::kNone;
  return images;
}

std::string InlineImages::Show(absl::string_view picture) {
  if (protocol_ == ImageProtocol::kNone || shown_ >= kMaxShown) return "";
  winsize terminal = {};
  // Zeros, where the terminal doesn't say its size.
  (void)::ioctl(fd_, TIOCGWINSZ, &terminal);
  std::string bytes = InlinePng(protocol_, picture, terminal);
  if (!bytes.empty()) ++shown_;
  return bytes;
}

}  // namespace sandglass::client
