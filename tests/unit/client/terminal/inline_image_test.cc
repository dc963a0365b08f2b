#include "client/terminal/inline_image.h"

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Number(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift & 0xff);
  }
  return bytes;
}

std::string Chunk(const std::string& type, const std::string& content) {
  return absl::StrCat(Number(static_cast<uint32_t>(content.size())), type,
                      content, "CRC.");
}

std::string Png(uint32_t width, uint32_t height, const std::string& between,
                const std::string& data = "pixels") {
  const std::string rest("\x08\x06\0\0\0", 5);
  return absl::StrCat("\x89PNG\r\n\x1a\n",
                      Chunk("IHDR", Number(width) + Number(height) + rest),
                      between, Chunk("IDAT", data), Chunk("IEND", ""));
}

// 80 columns of 10 pixels, 24 rows of 20.
constexpr winsize kTerminal = {24, 80, 800, 480};

std::string Iterm(const std::string& png, const winsize& size = kTerminal) {
  return InlinePng(ImageProtocol::kIterm, png, size);
}
std::string Kitty(const std::string& png, const winsize& size = kTerminal) {
  return InlinePng(ImageProtocol::kKitty, png, size);
}

ImageProtocol Of(const std::map<std::string, std::string>& variables) {
  return ImageProtocolOf([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(InlineImageTest, KnowsTerminalsByTheirVariables) {
  EXPECT_EQ(Of({{"TERM", "xterm-kitty"}}), ImageProtocol::kKitty);
  EXPECT_EQ(Of({{"TERM", "xterm-ghostty"}}), ImageProtocol::kKitty);
  EXPECT_EQ(Of({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "1"}}),
            ImageProtocol::kKitty);
  for (const char* program : {"iTerm.app", "WezTerm", "mintty"}) {
    EXPECT_EQ(Of({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", program}}),
              ImageProtocol::kIterm);
  }
  EXPECT_EQ(Of({{"TERM", "xterm-256color"}, {"LC_TERMINAL", "iTerm2"}}),
            ImageProtocol::kIterm);
  EXPECT_EQ(Of({{"TERM", "xterm-256color"}}), ImageProtocol::kNone);
  EXPECT_EQ(Of({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "vscode"}}),
            ImageProtocol::kNone);
}

TEST(InlineImageTest, ShowsNothingThroughWhatPassesNothingOn) {
  EXPECT_EQ(Of({}), ImageProtocol::kNone);
  EXPECT_EQ(Of({{"TERM", "dumb"}, {"LC_TERMINAL", "iTerm2"}}),
            ImageProtocol::kNone);
  for (const char* term : {"screen", "screen-256color", "tmux-256color"}) {
    EXPECT_EQ(Of({{"TERM", term}, {"LC_TERMINAL", "iTerm2"}}),
              ImageProtocol::kNone);
  }
  for (const char* between : {"TMUX", "STY", "ZELLIJ"}) {
    EXPECT_EQ(Of({{"TERM", "xterm-kitty"}, {between, "0"}}),
              ImageProtocol::kNone);
  }
}

TEST(InlineImageTest, WhatFitsKeepsItsSize) {
  const std::string png = Png(640, 400, "");
  EXPECT_EQ(Iterm(png),
            absl::StrCat("\x1b]1337;File=inline=1;size=", png.size(),
                         ";width=auto;height=auto;preserveAspectRatio=1:",
                         absl::Base64Escape(png), "\a"));
  EXPECT_EQ(Kitty(png), absl::StrCat("\x1b_Ga=T,f=100,q=2,m=0;",
                                     absl::Base64Escape(png), "\x1b\\"));
  EXPECT_EQ(InlinePng(ImageProtocol::kNone, png, kTerminal), "");
}

TEST(InlineImageTest, WhatIsLargerIsFittedByOneSide) {
  EXPECT_THAT(Iterm(Png(1600, 400, "")), HasSubstr("width=80;height=auto"));
  EXPECT_THAT(Iterm(Png(700, 2000, "")), HasSubstr("width=auto;height=22"));
  EXPECT_THAT(Kitty(Png(1600, 400, "")),
              StartsWith("\x1b_Ga=T,f=100,c=80,q=2,"));
  EXPECT_THAT(Kitty(Png(1, 10'000, "")),
              StartsWith("\x1b_Ga=T,f=100,r=22,q=2,"));
  // Over lines that don't tell pixels, or nothing at all.
  EXPECT_THAT(Kitty(Png(1600, 40, ""), {24, 80, 0, 0}), HasSubstr(",c=80,"));
  EXPECT_THAT(Kitty(Png(1600, 40, ""), {}), HasSubstr(",c=80,"));
  EXPECT_EQ(Kitty(Png(640, 300, ""), {}), Kitty(Png(640, 300, "")));
}

TEST(InlineImageTest, KittyGetsItInParts) {
  const std::string png = Png(640, 400, "", std::string(7000, 'x'));
  const std::string bytes = Kitty(png);
  EXPECT_THAT(bytes, StartsWith("\x1b_Ga=T,f=100,q=2,m=1;"));
  EXPECT_THAT(bytes, HasSubstr("\x1b\\\x1b_Gq=2,m=1;"));
  EXPECT_THAT(bytes, EndsWith("\x1b\\"));
  EXPECT_EQ(absl::StrReplaceAll(bytes, {{"\x1b_Ga=T,f=100,q=2,m=1;", ""},
                                        {"\x1b_Gq=2,m=1;", ""},
                                        {"\x1b_Gq=2,m=0;", ""},
                                        {"\x1b\\", ""}}),
            absl::Base64Escape(png));
}

TEST(InlineImageTest, OnlyWhatAPictureNeedsIsHandedOn) {
  EXPECT_EQ(Iterm(Png(9, 9,
                      Chunk("iCCP", "profile") + Chunk("PLTE", "rgb") +
                          Chunk("zTXt", "bomb") + Chunk("acTL", "film"))),
            Iterm(Png(9, 9, Chunk("PLTE", "rgb"))));
  // What follows its end.
  EXPECT_EQ(Iterm(Png(9, 9, "") + "\x1b]0;title\a"), Iterm(Png(9, 9, "")));
}

TEST(InlineImageTest, WhatIsNoPngOrTooLargeIsNotShown) {
  const std::string png = Png(9, 9, "");
  EXPECT_EQ(Iterm(""), "");
  EXPECT_EQ(Iterm("<svg/>"), "");
  EXPECT_EQ(Iterm("\x89PNG"), "");
  for (size_t size = 0; size < png.size(); ++size) {
    EXPECT_EQ(Iterm(png.substr(0, size)), "") << size;
  }
  EXPECT_EQ(Iterm(Png(0, 9, "")), "");
  EXPECT_EQ(Iterm(Png(10'001, 1, "")), "");
  EXPECT_EQ(Iterm(Png(0xffffffff, 0xffffffff, "")), "");
  EXPECT_EQ(Iterm(Png(5000, 5000, "")), "");
  EXPECT_EQ(Iterm(Png(9, 9, Chunk("IHDR", std::string(13, '\1')))), "");
  EXPECT_EQ(Iterm(Png(9, 9, Number(0xffffffff) + "IDAT")), "");
  EXPECT_EQ(Iterm(Png(9, 9, "", std::string(5 << 20, 'x'))), "");
  EXPECT_THAT(Iterm(png), StartsWith("\x1b]1337;"));
}

TEST(InlineImageTest, OfItsBytesNothingButBase64ComesOut) {
  const std::string png = Png(9, 9, Chunk("tRNS", "\x1b[2J"), "\x1b]0;x\a");
  for (size_t place = 0; place < png.size(); ++place) {
    for (const char byte : {'\0', '\x1b', '\x9b', '\xff', '\x01'}) {
      std::string changed = png;
      changed[place] = byte;
      const std::string bytes = Kitty(changed);
      if (bytes.empty()) continue;
      ASSERT_THAT(bytes, StartsWith("\x1b_G"));
      ASSERT_THAT(bytes, EndsWith("\x1b\\"));
      for (const char c : bytes.substr(1, bytes.size() - 3)) {
        ASSERT_TRUE(c > 0x20 && c < 0x7f) << place;
      }
    }
  }
}

}  // namespace
}  // namespace sandglass::client
