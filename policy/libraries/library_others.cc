// Parses Go's modules, gems, and Maven's coordinates.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/libraries/library_syntax.h"

namespace sandglass::policy {
namespace {

// Longer ones first, because some are beginnings of others.
constexpr absl::string_view kGemOperators[] = {
    "~>", ">=", "<=", "!=", "=", ">", "<"};
constexpr size_t kMaxVersion = 128;

// Checks an element of a module's path (golang.org/x/mod/module, CheckPath).
bool IsPathElement(absl::string_view text) {
  return IsWordOf(text, "-._~") && text.front() != '.' && text.back() != '.' &&
         text.front() != '-' && !absl::StrContains(text, "..");
}

// The first element is the name of a host: the go command asks that host, or a
// mirror.
bool IsModuleHost(absl::string_view text) {
  return IsWordOf(text, "-.") && absl::StrContains(text, ".") &&
         std::none_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isupper(static_cast<unsigned char>(c));
         });
}

// Accepts "1.2.3", "2.0.0.beta1": numbers and letters as in Gem::Version.
bool IsGemVersion(absl::string_view text) {
  if (text.size() > kMaxVersion || text.empty() ||
      !absl::ascii_isdigit(text[0])) {
    return false;
  }
  const size_t dash = text.find('-');
  for (const absl::string_view part :
       absl::StrSplit(text.substr(0, dash), '.')) {
    if (!IsWordOf(part, "")) return false;
  }
  if (dash == absl::string_view::npos) return true;
  for (const absl::string_view part :
       absl::StrSplit(text.substr(dash + 1), '.')) {
    if (!IsWordOf(part, "-")) return false;
  }
  return true;
}

bool IsMavenWord(absl::string_view text) {
  return IsWordOf(text, "._-") && (IsAlnum(text[0]) || text[0] == '_') &&
         text.back() != '.' && !absl::StrContains(text, "..");
}

// Accepts one version, but no word for "the newest", which would change from
// day to day. For Ivy a "+" at the end is such a word.
bool IsMavenVersion(absl::string_view text) {
  return text.size() <= kMaxVersion && IsWordOf(text, "._+-") &&
         IsAlnum(text[0]) && !absl::StrContains(text, "..") &&
         text.back() != '.' && text.back() != '+' &&
         !absl::StartsWithIgnoreCase(text, "latest.");
}

}  // namespace

std::optional<std::string> GoModule(absl::string_view text) {
  const std::vector<absl::string_view> elements = absl::StrSplit(text, '/');
  // That is a source file's name, in the directory where the command is run.
  if (elements.size() == 1 && HasEnding(text, {".go"})) return std::nullopt;
  if (!IsModuleHost(elements.front()) ||
      !std::all_of(elements.begin(), elements.end(), IsPathElement)) {
    return std::nullopt;
  }
  return std::string(text);
}

absl::StatusOr<Library> ParseGo(absl::string_view text) {
  const size_t at = text.find('@');
  const absl::string_view path = text.substr(0, at);
  const std::optional<std::string> module = GoModule(path);
  if (!module) {
    const bool no_host = path.find('.') > path.find('/');
    return RefuseLibrary(
        text, no_host || !absl::StrContains(path, ".")
                  ? "has no host at its beginning, as modules have that can be "
                    "installed; write it as in \"golang.org/x/text@v0.3.7\""
                  : "doesn't begin with a module's path; write it as in "
                    "\"golang.org/x/text@v0.3.7\"");
  }
  Library library;
  library.name = *module;
  library.version = "latest";
  if (at == absl::string_view::npos) return library;
  const absl::string_view version = text.substr(at + 1);
  const bool exact = version.size() <= kMaxVersion &&
                     absl::StartsWith(version, "v") &&
                     IsSemver(version.substr(1));
  const size_t plus = version.find('+');
  if (version != "latest" &&
      (!exact || (plus != absl::string_view::npos &&
                  version.substr(plus) != "+incompatible"))) {
    return RefuseLibrary(
        text,
        "has no version after \"@\"; write one with three numbers, as in "
        "\"golang.org/x/text@v0.3.7\", or \"latest\"");
  }
  library.version = std::string(version);
  return library;
}

std::optional<std::string> RubyName(absl::string_view text) {
  const bool has_letter = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c));
  });
  // `gem` looks for a file if a name ends in ".gem".
  if (!IsWordOf(text, "._-") || !IsAlnum(text[0]) || !has_letter ||
      absl::StrContains(text, "..") || HasEnding(text, {".gem"})) {
    return std::nullopt;
  }
  return std::string(text);
}

absl::StatusOr<Library> ParseRuby(absl::string_view text) {
  TextCursor cursor(text);
  const std::optional<std::string> name = RubyName(cursor.Word("._-"));
  if (!name) {
    return RefuseLibrary(text,
                         "doesn't begin with a gem's name; write it as in "
                         "\"rack\" or \"rack:~> 2.2\"");
  }
  Library library;
  library.name = *name;
  if (cursor.empty()) return library;
  const bool separated = cursor.Consume(":") || cursor.peek() == ' ';
  cursor.Blanks();
  const auto op = std::find_if(
      std::begin(kGemOperators), std::end(kGemOperators),
      [&](absl::string_view each) { return cursor.Consume(each); });
  cursor.Blanks();
  if (absl::StrContains(cursor.rest(), ",")) {
    return RefuseLibrary(text,
                         "has more than one condition, and `gem install` takes "
                         "one; write it as in \"rack:~> 2.2\"");
  }
  if (!separated || !IsGemVersion(cursor.rest())) {
    return RefuseLibrary(text,
                         "has no version after its name; write one as in "
                         "\"rack:2.2.3\" or \"rack:~> 2.2\"");
  }
  const bool exact = op == std::end(kGemOperators) || *op == "=";
  library.version = exact ? std::string(cursor.rest())
                          : absl::StrCat(*op, " ", cursor.rest());
  return library;
}

std::optional<std::string> JavaName(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 2 || !IsMavenWord(parts[0]) || !IsMavenWord(parts[1])) {
    return std::nullopt;
  }
  return std::string(text);
}

absl::StatusOr<Library> ParseJava(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) {
    return RefuseLibrary(
        text, absl::StrCat("has ", parts.size(),
                           " parts; write group, artifact and version, as in "
                           "\"com.google.code.gson:gson:2.8.9\""));
  }
  const std::optional<std::string> name =
      JavaName(absl::StrCat(parts[0], ":", parts[1]));
  if (!name) {
    return RefuseLibrary(text,
                         "has no group and artifact before its version; write "
                         "them as in \"com.google.code.gson:gson:2.8.9\"");
  }
  if (!IsMavenVersion(parts[2]) || absl::EqualsIgnoreCase(parts[2], "LATEST") ||
      absl::EqualsIgnoreCase(parts[2], "RELEASE")) {
    return RefuseLibrary(text,
                         "has no version at its end; write one, not a range or "
                         "a word, as in \"com.google.code.gson:gson:2.8.9\"");
  }
  Library library;
  library.name = *name;
  library.version = std::string(parts[2]);
  return library;
}

}  // namespace sandglass::policy
