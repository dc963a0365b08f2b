// Parses npm's requirements by name and range.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "policy/libraries/library_syntax.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxAlternatives = 16;
constexpr size_t kMaxComparators = 16;
constexpr absl::string_view kComparators[] = {">=", "<=", ">", "<",
                                              "=",  "^",  "~"};

bool IsPackageWord(absl::string_view text) {
  return IsWordOf(text, "._-") && IsAlnum(text[0]) &&
         !absl::StrContains(text, "..") &&
         !absl::EqualsIgnoreCase(text, "node_modules");
}

// npm looks for a file when an argument ends so.
bool EndsAsNpmArchive(absl::string_view text) {
  return HasEnding(text, {".tgz", ".tar.gz", ".tar"});
}

bool IsAny(absl::string_view part) {
  return part == "*" || part == "x" || part == "X";
}

// Accepts "1", "1.x", "1.2.3-beta.1": some of the three numbers may be missing
// or stand for any.
bool IsPartial(absl::string_view text) {
  if (absl::StartsWith(text, "v")) text.remove_prefix(1);
  if (IsSemver(text)) return true;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  return parts.size() <= 3 &&
         std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
           return IsAny(part) || IsSemver(absl::StrCat(part, ".0.0"));
         });
}

// Parses "1.2 - 2.3", or comparators that all have to hold; returns the normal
// form.
std::optional<std::string> Alternative(absl::string_view text) {
  std::vector<std::string> parts;
  bool has_comparator = false;
  TextCursor cursor(text);
  for (cursor.Blanks(); !cursor.empty(); cursor.Blanks()) {
    if (parts.size() >= kMaxComparators) return std::nullopt;
    const auto op = std::find_if(
        std::begin(kComparators), std::end(kComparators),
        [&](absl::string_view each) { return cursor.Consume(each); });
    const bool compares = op != std::end(kComparators);
    if (compares) cursor.Blanks();
    const absl::string_view version = cursor.Word(".*+-");
    const bool dash = version == "-" && !compares;
    if (!dash && !IsPartial(version)) return std::nullopt;
    has_comparator = has_comparator || compares;
    // Refuses "1.2>=3".
    if (!cursor.empty() && cursor.peek() != ' ') return std::nullopt;
    parts.push_back(absl::StrCat(compares ? *op : "", version));
  }
  const auto dashes = std::count(parts.begin(), parts.end(), "-");
  if (dashes > 0 &&
      (dashes > 1 || has_comparator || parts.size() != 3 || parts[1] != "-")) {
    return std::nullopt;
  }
  if (parts.empty()) return std::nullopt;
  return absl::StrJoin(parts, " ");
}

std::optional<std::string> Range(absl::string_view text) {
  std::vector<std::string> alternatives;
  for (const absl::string_view part : absl::StrSplit(text, "||")) {
    std::optional<std::string> alternative = Alternative(part);
    if (!alternative || alternatives.size() >= kMaxAlternatives) {
      return std::nullopt;
    }
    alternatives.push_back(*std::move(alternative));
  }
  return absl::StrJoin(alternatives, " || ");
}

}  // namespace

bool IsNodeTag(absl::string_view text) {
  return IsWordOf(text, "._-") && absl::ascii_isalpha(text[0]) &&
         !absl::StrContains(text, "..") && !IsPartial(text);
}

std::optional<std::string> NodeName(absl::string_view text) {
  std::string name(text);
  if (absl::ConsumePrefix(&text, "@")) {
    const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
    if (parts.size() != 2 || !IsPackageWord(parts[0]) ||
        !IsPackageWord(parts[1])) {
      return std::nullopt;
    }
    return name;
  }
  if (!IsPackageWord(text) || EndsAsNpmArchive(text)) return std::nullopt;
  return name;
}

absl::StatusOr<Library> ParseNode(absl::string_view text) {
  const size_t at = text.find('@', 1);
  const absl::string_view before = text.substr(0, at);
  std::optional<std::string> name = NodeName(before);
  if (!name) {
    if (before[0] != '@' && absl::StrContains(before, "/")) {
      return RefuseLibrary(text,
                           "is a repository or a directory; write a package's "
                           "name, as in \"lodash@^4.17.0\" or \"@types/node\"");
    }
    return RefuseLibrary(text,
                         "doesn't begin with a package's name; write it as in "
                         "\"lodash@^4.17.0\" or \"@types/node\"");
  }
  Library library;
  library.name = *std::move(name);
  if (at == absl::string_view::npos) return library;
  const absl::string_view version = text.substr(at + 1);
  if (IsNodeTag(version) && !EndsAsNpmArchive(version)) {
    library.version = std::string(version);
    return library;
  }
  std::optional<std::string> range = Range(version);
  if (!range || EndsAsNpmArchive(version)) {
    return RefuseLibrary(
        text,
        "has no version or range after \"@\"; write one as in "
        "\"lodash@4.17.21\", "
        "\"lodash@^4.17.0\", \"lodash@>=4 <5\" or \"lodash@latest\"");
  }
  library.version = *std::move(range);
  return library;
}

}  // namespace sandglass::policy
