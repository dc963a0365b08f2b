#include "gateway/edge/head_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sandglass::gateway {
namespace {

using Wrong = std::optional<std::string>;
constexpr absl::string_view kNewLine = "\r\n";
constexpr absl::string_view kEnd = "\r\n\r\n";

// RFC 9110, 5.6.2.
bool IsToken(absl::string_view text) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains(kMarks, c);
  });
}

bool IsText(absl::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= ' ' && byte != 0x7f);
  });
}

Wrong WrongWithFirstLine(absl::string_view line) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3 || !IsToken(parts[0])) {
    return "The first line is to be a method, a path and HTTP/1.1.";
  }
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") {
    return "The version is to be HTTP/1.1.";
  }
  const bool star = parts[0] == "OPTIONS" && parts[1] == "*";
  const bool printable = std::ranges::all_of(parts[1], [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '#';
  });
  if ((!star && !absl::StartsWith(parts[1], "/")) || !printable) {
    return "The request's target is to be a path that begins with a slash.";
  }
  return std::nullopt;
}

// The headers by which a request says where its body ends and whom it is for.
struct Framing {
  int hosts = 0;
  int lengths = 0;
  int encodings = 0;

  Wrong Add(absl::string_view name, absl::string_view value) {
    if (absl::EqualsIgnoreCase(name, "host")) ++hosts;
    if (absl::EqualsIgnoreCase(name, "content-length")) {
      ++lengths;
      constexpr size_t kMostDigits = 18;
      if (value.empty() || value.size() > kMostDigits ||
          !std::ranges::all_of(value, [](char c) {
            return absl::ascii_isdigit(static_cast<unsigned char>(c));
          })) {
        return "Content-Length is to be a number.";
      }
    }
    if (absl::EqualsIgnoreCase(name, "transfer-encoding")) {
      ++encodings;
      if (!absl::EqualsIgnoreCase(value, "chunked")) {
        return "The only Transfer-Encoding is chunked.";
      }
    }
    return std::nullopt;
  }

  Wrong Check(bool newest) const {
    if (lengths > 1 || encodings > 1 || (lengths > 0 && encodings > 0)) {
      return "The length of the body is said twice.";
    }
    if (encodings > 0 && !newest) {
      return "There is no Transfer-Encoding in HTTP/1.0.";
    }
    if (hosts > 1 || (hosts == 0 && newest)) {
      return "There is to be one Host.";
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<size_t> EndOfHead(std::string_view bytes) {
  const size_t at = bytes.find(std::string_view(kEnd.data(), kEnd.size()));
  if (at == std::string_view::npos) return std::nullopt;
  return at + kEnd.size();
}

std::optional<std::string> WrongWithHead(std::string_view head) {
  absl::string_view rest(head.data(), head.size() - kEnd.size());
  const std::vector<absl::string_view> lines = absl::StrSplit(rest, kNewLine);
  for (const absl::string_view line : lines) {
    if (!IsText(line)) {
      return "Lines are to end with CR LF, and to have no other control "
             "characters.";
    }
  }
  if (Wrong first = WrongWithFirstLine(lines.front())) return first;
  Framing framing;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (absl::StartsWith(lines[i], " ") || absl::StartsWith(lines[i], "\t")) {
      return "A header is to be in one line.";
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    if (!IsToken(parts.first) || parts.first.size() == lines[i].size()) {
      return absl::StrCat("Line ", i + 1, " of the head is no header.");
    }
    const absl::string_view value = absl::StripAsciiWhitespace(parts.second);
    if (Wrong wrong = framing.Add(parts.first, value)) return wrong;
  }
  return framing.Check(absl::EndsWith(lines.front(), "1.1"));
}

}  // namespace sandglass::gateway
