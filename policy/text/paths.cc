#include "policy/text/paths.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxMatchedPath = 4096;

absl::Status Refuse(std::string_view path, std::string_view why) {
  constexpr size_t kShown = 80;
  const absl::string_view shown(path.data(), std::min(path.size(), kShown));
  return absl::InvalidArgumentError(absl::StrCat(
      "path \"",
      // Cutting could split a character, so a long path is shown in ASCII.
      path.size() > kShown ? absl::CEscape(shown) + "…"
                           : absl::Utf8SafeCEscape(shown),
      "\" ", AbslView(why)));
}

// Removes the first segment from `rest`, with the slash after it, and returns
// it.
std::string_view ConsumeSegment(std::string_view& rest) {
  const size_t slash = rest.find('/');
  const std::string_view segment = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view()
                                         : rest.substr(slash + 1);
  return segment;
}

// `set` is a whole bracket expression.
bool InBracket(std::string_view set, char32_t character) {
  set = set.substr(1, set.size() - 2);
  const bool negated = set[0] == '!' || set[0] == '^';
  if (negated) set.remove_prefix(1);
  bool found = false;
  while (!set.empty()) {
    const char32_t low = ConsumeUtf8Character(set);
    char32_t high = low;
    if (set.size() >= 2 && set[0] == '-') {
      set.remove_prefix(1);
      high = ConsumeUtf8Character(set);
    }
    found |= low <= character && character <= high;
  }
  return found != negated;
}

// Compares one element of a segment's pattern (not a star) with one character.
// Removes the element from `pattern` in any case.
bool ConsumeElement(std::string_view& pattern, char32_t character) {
  if (pattern[0] == '?') {
    pattern.remove_prefix(1);
    return true;
  }
  if (pattern[0] == '[') {
    const size_t length = BracketLength(pattern);
    const std::string_view set = pattern.substr(0, length);
    pattern.remove_prefix(length);
    return InBracket(set, character);
  }
  return ConsumeUtf8Character(pattern) == character;
}

// Only the last star needs to be tried again: if an earlier one matched fewer
// characters, that would give the later ones no choice that they don't have
// already. So two positions to go back to suffice, without recursion.
bool SegmentMatch(std::string_view pattern, std::string_view name) {
  bool starred = false;
  std::string_view retry_pattern;
  std::string_view retry_name;
  while (true) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      starred = true;
      retry_pattern = pattern;
      retry_name = name;
      continue;
    }
    if (name.empty() && pattern.empty()) return true;
    if (!name.empty() && !pattern.empty() &&
        ConsumeElement(pattern, ConsumeUtf8Character(name))) {
      continue;
    }
    if (!starred || retry_name.empty()) return false;
    ConsumeUtf8Character(retry_name);
    pattern = retry_pattern;
    name = retry_name;
  }
}

}  // namespace

absl::Status ValidateRelativePath(std::string_view path) {
  if (path.empty()) return Refuse(path, "is empty");
  if (path.size() > kMaxPathBytes) {
    return Refuse(path, absl::StrCat("has ", path.size(), " bytes; at most ",
                                     kMaxPathBytes, " are allowed"));
  }
  if (path.find('\0') != std::string_view::npos) {
    return Refuse(path, "has a NUL byte");
  }
  if (path[0] == '/') {
    return Refuse(path, "is absolute; give it relative to /workspace");
  }
  size_t segments = 0;
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view segment = path.substr(start, end - start);
    start = end + 1;
    if (segment.empty()) {
      return Refuse(path,
                    "has an empty segment (\"//\" or a \"/\" at its end)");
    }
    if (segment == ".") {
      return Refuse(path, "has a \".\" segment; leave it out");
    }
    if (segment == "..") {
      return Refuse(path, "has a \"..\" segment; it could leave /workspace");
    }
    if (segment.size() > kMaxNameBytes) {
      return Refuse(path, absl::StrCat("has a name of ", segment.size(),
                                       " bytes; at most ", kMaxNameBytes,
                                       " are allowed"));
    }
    if (++segments > kMaxPathSegments) {
      return Refuse(
          path, absl::StrCat("has more than ", kMaxPathSegments, " segments"));
    }
  }
  return absl::OkStatus();
}

size_t BracketLength(std::string_view pattern) {
  if (pattern.empty() || pattern[0] != '[') return 0;
  pattern = pattern.substr(0, pattern.find('/'));
  size_t i = 1;
  if (i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^')) ++i;
  const size_t close = pattern.find(']', i + 1);
  return close == std::string_view::npos ? 0 : close + 1;
}

bool IsGlob(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

absl::Status ValidateGlob(std::string_view pattern) {
  if (absl::Status status = ValidateRelativePath(pattern); !status.ok()) {
    return status;
  }
  for (std::string_view rest = pattern; !rest.empty();) {
    std::string_view segment = ConsumeSegment(rest);
    while (!segment.empty()) {
      size_t length = 1;
      if (segment[0] == '[') length = BracketLength(segment);
      if (length == 0) {
        return Refuse(pattern,
                      "has a \"[\" without its \"]\" in the same segment; "
                      "write \"[[]\" for the character itself");
      }
      segment.remove_prefix(length);
    }
  }
  return absl::OkStatus();
}

namespace {

enum class Dots { kAsOthers, kOnlyByDot };

// Whether stars and other special characters can't match the next segment of
// `path`.
bool Hidden(std::string_view path, Dots dots) {
  return dots == Dots::kOnlyByDot && path[0] == '.';
}

bool Match(std::string_view pattern, std::string_view path, Dots dots) {
  if (path.empty() || path.size() > kMaxMatchedPath ||
      !ValidateGlob(pattern).ok()) {
    return false;
  }
  // The same algorithm as within a segment, with segments in place of
  // characters and "**" in place of the star. What is left is empty only at the
  // end, because neither text ends in a slash.
  if (path.front() == '/' || path.back() == '/') return false;
  bool starred = false;
  std::string_view retry_pattern;
  std::string_view retry_path;
  while (true) {
    if (pattern == "**" || pattern.substr(0, 3) == "**/") {
      ConsumeSegment(pattern);
      starred = true;
      retry_pattern = pattern;
      retry_path = path;
      continue;
    }
    if (path.empty() && pattern.empty()) return true;
    if (!path.empty() && !pattern.empty()) {
      const std::string_view element = ConsumeSegment(pattern);
      const bool hidden = Hidden(path, dots) && element[0] != '.';
      if (SegmentMatch(element, ConsumeSegment(path)) && !hidden) continue;
    }
    if (!starred || retry_path.empty() || Hidden(retry_path, dots)) {
      return false;
    }
    ConsumeSegment(retry_path);
    pattern = retry_pattern;
    path = retry_path;
  }
}

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view path) {
  return Match(pattern, path, Dots::kAsOthers);
}

bool GlobMatchVisible(std::string_view pattern, std::string_view path) {
  return Match(pattern, path, Dots::kOnlyByDot);
}

}  // namespace sandglass::policy
