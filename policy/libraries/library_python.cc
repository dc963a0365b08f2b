// Parses requirements of PEP 508 by name, with versions of PEP 440.
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

constexpr size_t kMaxClauses = 16;

// pip looks for a file when an argument ends so.
bool EndsAsPipArchive(absl::string_view text) {
  return HasEnding(
      text, {".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz",
             ".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma"});
}

// Reads one of the words, with an optional number, and the marks that may come
// before both. If none is there, the cursor doesn't move.
bool ConsumePart(TextCursor& cursor,
                 std::initializer_list<absl::string_view> words) {
  TextCursor after = cursor;
  after.ConsumeAnyOf("-_.");
  const bool found =
      std::any_of(words.begin(), words.end(),
                  [&](absl::string_view word) { return after.Consume(word); });
  if (!found) return false;
  TextCursor number = after;
  number.ConsumeAnyOf("-_.");
  if (!number.Digits().empty()) after = number;
  cursor = after;
  return true;
}

// Reads "-1", the short form of ".post1".
void ConsumeImplicitPost(TextCursor& cursor) {
  TextCursor after = cursor;
  if (after.Consume("-") && !after.Digits().empty()) cursor = after;
}

bool ConsumeLocal(TextCursor& cursor) {
  do {
    if (cursor.Word("").empty()) return false;
  } while (cursor.ConsumeAnyOf("-_."));
  return true;
}

// Which forms of a version an operator allows.
struct VersionForm {
  bool wildcard = false;  // "1.2.*"
  bool local = false;     // "1.2+cpu"
  int min_numbers = 1;    // of the release's parts
};

// Why `text`, in lower case, isn't a version; empty when it is one.
std::string WrongVersion(absl::string_view text, VersionForm form) {
  std::string wrong =
      absl::StrCat("has \"", text, "\" for a version; write one as in \"1.2\"");
  TextCursor cursor(text);
  cursor.Consume("v");
  if (cursor.Digits().empty()) return wrong;
  if (cursor.Consume("!") && cursor.Digits().empty()) return wrong;
  int numbers = 1;
  while (true) {
    TextCursor after = cursor;
    if (!after.Consume(".") || after.Digits().empty()) break;
    cursor = after;
    ++numbers;
  }
  if (cursor.rest() == ".*") {
    return form.wildcard ? "" : "has \".*\", which only == and != take";
  }
  if (numbers < form.min_numbers) {
    return absl::StrCat("has \"~=", text, "\"; ~= needs two numbers, as in \"",
                        text, ".0\"");
  }
  ConsumePart(cursor, {"alpha", "beta", "preview", "pre", "rc", "a", "b", "c"});
  if (!ConsumePart(cursor, {"post", "rev", "r"})) ConsumeImplicitPost(cursor);
  ConsumePart(cursor, {"dev"});
  if (cursor.Consume("+")) {
    if (!form.local) {
      return "has a local version (\"+\"), which only == and != take";
    }
    if (!ConsumeLocal(cursor)) return wrong;
  }
  return cursor.empty() ? "" : wrong;
}

std::string WrongClause(absl::string_view op, absl::string_view version) {
  if (op == "===") {
    return !version.empty() && IsAlnum(version[0]) &&
                   IsWordOf(version, ".+-_!") &&
                   !absl::StrContains(version, "..")
               ? ""
               : absl::StrCat("has \"", version, "\" for a version");
  }
  const bool equal = op == "==" || op == "!=";
  return WrongVersion(
      version,
      {.wildcard = equal, .local = equal, .min_numbers = op == "~=" ? 2 : 1});
}

// Turns ">=2, <3" into "<3,>=2".
absl::StatusOr<std::string> ParseClauses(absl::string_view text,
                                         absl::string_view whole) {
  std::vector<std::string> clauses;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    TextCursor cursor(absl::StripAsciiWhitespace(part));
    const auto op = std::find_if(
        std::begin(kPythonComparisons), std::end(kPythonComparisons),
        [&](absl::string_view each) { return cursor.Consume(each); });
    if (op == std::end(kPythonComparisons)) {
      return RefuseLibrary(
          whole, cursor.rest().substr(0, 1) == "="
                     ? "has \"=\" before its version; write \"==\""
                     : "has no ==, >=, <=, >, <, ~= or != before its version; "
                       "write it as in \"six==1.16.0\"");
    }
    cursor.Blanks();
    const std::string version = *op == "==="
                                    ? std::string(cursor.rest())
                                    : absl::AsciiStrToLower(cursor.rest());
    if (const std::string wrong = WrongClause(*op, version); !wrong.empty()) {
      return RefuseLibrary(whole, wrong);
    }
    clauses.push_back(absl::StrCat(*op, version));
  }
  if (clauses.size() > kMaxClauses) {
    return RefuseLibrary(whole, absl::StrCat("has ", clauses.size(),
                                             " conditions for its version; at "
                                             "most ",
                                             kMaxClauses, " are taken"));
  }
  std::sort(clauses.begin(), clauses.end());
  clauses.erase(std::unique(clauses.begin(), clauses.end()), clauses.end());
  return absl::StrJoin(clauses, ",");
}

absl::Status ParseExtras(TextCursor& cursor, absl::string_view whole,
                         std::vector<std::string>& extras) {
  while (true) {
    cursor.Blanks();
    const std::optional<std::string> extra = PythonName(cursor.Word("._-"));
    if (!extra) {
      return RefuseLibrary(whole,
                           "has no name between [ and ]; write extras as in "
                           "\"requests[socks]\"");
    }
    extras.push_back(*extra);
    cursor.Blanks();
    if (cursor.Consume("]")) break;
    if (!cursor.Consume(",")) {
      return RefuseLibrary(whole, "has \"[\" without its \"]\"");
    }
  }
  std::sort(extras.begin(), extras.end());
  extras.erase(std::unique(extras.begin(), extras.end()), extras.end());
  if (extras.size() > kMaxExtras) {
    return RefuseLibrary(
        whole, absl::StrCat("has ", extras.size(), " extras; at most ",
                            kMaxExtras, " are taken"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string> PythonName(absl::string_view text) {
  if (!IsWordOf(text, "._-") || !IsAlnum(text.front()) ||
      !IsAlnum(text.back())) {
    return std::nullopt;
  }
  std::string name;
  for (const char c : text) {
    if (IsAlnum(c)) {
      name += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (name.back() != '-') {
      name += '-';
    }
  }
  return name;
}

absl::StatusOr<Library> ParsePython(absl::string_view text) {
  TextCursor cursor(text);
  const absl::string_view word = cursor.Word("._-");
  const std::optional<std::string> name = PythonName(word);
  if (!name) {
    return RefuseLibrary(text,
                         "doesn't begin with a package's name; write it as in "
                         "\"six==1.16.0\"");
  }
  Library library;
  library.name = *name;
  cursor.Blanks();
  if (cursor.Consume("[")) {
    if (absl::Status s = ParseExtras(cursor, text, library.extras); !s.ok()) {
      return s;
    }
    cursor.Blanks();
  }
  if (cursor.Consume("@")) {
    return RefuseLibrary(text,
                         "has \"@\": addresses aren't taken, and a version is "
                         "written as in \"six==1.16.0\"");
  }
  if (!cursor.empty()) {
    absl::StatusOr<std::string> clauses = ParseClauses(cursor.rest(), text);
    if (!clauses.ok()) return clauses.status();
    library.version = *std::move(clauses);
  }
  if (EndsAsPipArchive(text) || EndsAsPipArchive(library.ToArgument())) {
    return RefuseLibrary(text,
                         "is a file's name; write a package's name and "
                         "version, as in \"six==1.16.0\"");
  }
  return library;
}

}  // namespace sandglass::policy
