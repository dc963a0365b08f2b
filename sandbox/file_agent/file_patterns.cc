#include "sandbox/file_agent/file_patterns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/text/paths.h"
#include "policy/text/views.h"

namespace sandglass::sandbox {
namespace {

constexpr size_t kMaxPatternBytes = 4096;

// Length of what stands at `i`, which is one character or, since braces and
// commas have no meaning in it, a whole bracket expression.
size_t ElementLength(absl::string_view text, size_t i) {
  return std::max<size_t>(
      policy::BracketLength(policy::StdView(text.substr(i))), 1);
}

size_t FindBrace(absl::string_view text, size_t i) {
  while (i < text.size() && text[i] != '{') i += ElementLength(text, i);
  return i;
}

// Finds the end of the braces that open at `open`, and the commas between. npos
// when there is no end or no comma.
size_t FindAlternatives(absl::string_view text, size_t open,
                        std::vector<absl::string_view>& alternatives) {
  size_t depth = 0, start = open + 1;
  for (size_t i = open; i < text.size(); i += ElementLength(text, i)) {
    if (text[i] == '{') {
      ++depth;
    } else if (text[i] == ',' && depth == 1) {
      alternatives.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '}' && --depth == 0) {
      if (alternatives.empty()) break;
      alternatives.push_back(text.substr(start, i - start));
      return i;
    }
  }
  alternatives.clear();
  return absl::string_view::npos;
}

}  // namespace

bool ExpandBraces(absl::string_view pattern, size_t max,
                  std::vector<std::string>& expanded) {
  // A text, and the size of its front that has no braces left to expand.
  std::vector<std::pair<std::string, size_t>> open;
  open.emplace_back(pattern, 0);
  while (!open.empty()) {
    auto [text, done] = std::move(open.back());
    open.pop_back();
    const size_t brace = FindBrace(text, done);
    if (brace >= text.size()) {
      if (expanded.size() >= max) return false;
      expanded.push_back(std::move(text));
      continue;
    }
    std::vector<absl::string_view> alternatives;
    const size_t close = FindAlternatives(text, brace, alternatives);
    if (close == absl::string_view::npos) {
      open.emplace_back(std::move(text), brace + 1);
      continue;
    }
    if (open.size() + expanded.size() + alternatives.size() > max) {
      return false;
    }
    const absl::string_view all = text;
    // In reverse order, so that the first alternative is taken next.
    for (auto it = alternatives.rbegin(); it != alternatives.rend(); ++it) {
      open.emplace_back(
          absl::StrCat(all.substr(0, brace), *it, all.substr(close + 1)),
          brace);
    }
  }
  return true;
}

FileResult PathPattern::Parse(absl::string_view base, absl::string_view pattern,
                              bool hidden, PathPattern& parsed) {
  constexpr FileResult kInvalidPattern = {FileCode::kInvalidPattern, 0};
  if (pattern.empty() || pattern.size() > kMaxPatternBytes) {
    return kInvalidPattern;
  }
  parsed.hidden_ = hidden;
  parsed.by_name_ = !absl::StrContains(pattern, '/');
  parsed.base_.clear();
  if (pattern[0] != '/') parsed.base_.append(base.data(), base.size());
  while (absl::EndsWith(parsed.base_, "/")) parsed.base_.pop_back();
  std::vector<absl::string_view> segments;
  for (const absl::string_view segment : absl::StrSplit(pattern, '/')) {
    if (segment == "..") return kInvalidPattern;
    if (!segment.empty() && segment != ".") segments.push_back(segment);
  }
  if (segments.empty()) return kInvalidPattern;
  // The literal segments at the front need no search; the last segment has to
  // match.
  size_t first = 0;
  while (!parsed.by_name_ && first + 1 < segments.size() &&
         !policy::IsGlob({segments[first].data(), segments[first].size()})) {
    absl::StrAppend(&parsed.base_, "/", segments[first++]);
  }
  if (parsed.base_.empty()) parsed.base_.push_back('/');
  for (size_t i = first; i < segments.size(); ++i) {
    absl::StrAppend(&parsed.pattern_, i > first ? "/" : "", segments[i]);
    parsed.names_dots_ |= segments[i][0] == '.';
    parsed.any_depth_ |= segments[i] == "**";
  }
  parsed.any_depth_ |= parsed.by_name_;
  parsed.segments_ = segments.size() - first;
  return policy::ValidateGlob(parsed.pattern_).ok() ? FileResult{}
                                                    : kInvalidPattern;
}

bool PathPattern::Matches(absl::string_view path) const {
  const std::string_view whole(path.data(), path.size());
  const std::string_view text =
      by_name_ ? whole.substr(whole.rfind('/') + 1) : whole;
  if (!hidden_ && by_name_ && !names_dots_ &&
      (absl::StartsWith(path, ".") || absl::StrContains(path, "/."))) {
    return false;
  }
  return hidden_ ? policy::GlobMatch(pattern_, text)
                 : policy::GlobMatchVisible(pattern_, text);
}

bool PathPattern::MayHold(absl::string_view path, size_t depth) const {
  if (!any_depth_ && depth >= segments_) return false;
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  return hidden_ || names_dots_ || name[0] != '.';
}

}  // namespace sandglass::sandbox
