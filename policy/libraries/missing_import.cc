#include "policy/libraries/missing_import.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/libraries/import_names.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxName = 128;
constexpr size_t kMaxParts = 16;  // of a name that is looked up

// How a language reports it: the name follows, and then one of `ends`.
struct Mark {
  Ecosystem ecosystem;
  absl::string_view before;
  absl::string_view after;
};
constexpr Mark kMarks[] = {
    {Ecosystem::kPython, "ModuleNotFoundError: No module named '", "'"},
    {Ecosystem::kNode, "Cannot find module '", "'"},
    {Ecosystem::kNode, "Cannot find package '", "'"},
    {Ecosystem::kGo, "no required module provides package ", ":; \n"},
    {Ecosystem::kGo, "cannot find module providing package ", ":; \n"},
    {Ecosystem::kRuby, "cannot load such file -- ", " \n("},
    {Ecosystem::kJava, "error: package ", " "},
};

// The name after the last of the language's marks; empty: there is none.
absl::string_view LastName(Ecosystem ecosystem, absl::string_view text) {
  size_t last = 0;
  absl::string_view found;
  for (const Mark& mark : kMarks) {
    if (mark.ecosystem != ecosystem) continue;
    const size_t at = text.rfind(mark.before);
    if (at == absl::string_view::npos || at < last) continue;
    const absl::string_view rest = text.substr(at + mark.before.size());
    const size_t end = rest.find_first_of(mark.after);
    const absl::string_view name = rest.substr(0, end);
    if (ecosystem == Ecosystem::kJava &&
        !absl::StartsWith(rest.substr(name.size()), " does not exist")) {
      continue;
    }
    last = at;
    found = name;
  }
  return found;
}

bool IsHarmless(absl::string_view name) {
  return name.size() <= kMaxName && IsWordOf(name, "._-+/@~:") &&
         name[0] != '.' && name[0] != '/' && name[0] != '-' &&
         static_cast<size_t>(std::count_if(
             name.begin(), name.end(),
             [](char c) { return c == '.' || c == '/'; })) < kMaxParts;
}

// The first `count` parts, or all if there are fewer.
absl::string_view FirstParts(absl::string_view name, char separator,
                             int count) {
  size_t end = 0;
  for (int i = 0; i < count; ++i) {
    end = name.find(separator, end + (i > 0 ? 1 : 0));
    if (end == absl::string_view::npos) return name;
  }
  return name.substr(0, end);
}

// The library that the import itself names; empty where imports have names of
// their own, since the library of that name may be somebody else's.
absl::string_view LibraryInName(Ecosystem ecosystem, absl::string_view name) {
  switch (ecosystem) {
    case Ecosystem::kNode:
      return FirstParts(name, '/', name[0] == '@' ? 2 : 1);
    // Only for known hosts: a package can be deeper than its module.
    case Ecosystem::kGo:
      return absl::StartsWith(name, "github.com/") ||
                     absl::StartsWith(name, "gitlab.com/") ||
                     absl::StartsWith(name, "golang.org/x/")
                 ? FirstParts(name, '/', 3)
                 : name;
    case Ecosystem::kPython:
    case Ecosystem::kRuby:
    case Ecosystem::kJava:
      return {};
  }
  return {};
}

}  // namespace

std::optional<MissingImport> FindMissingImport(Ecosystem ecosystem,
                                               std::string_view stderr_tail) {
  absl::string_view text(stderr_tail.data(), stderr_tail.size());
  if (text.size() > kMissingImportScanBytes) {
    text.remove_prefix(text.size() - kMissingImportScanBytes);
  }
  const absl::string_view name = LastName(ecosystem, text);
  if (name.empty() || !IsHarmless(name)) return std::nullopt;
  // Before the check for the standard library: Ruby's net/ssh looks like a part
  // of its net.
  absl::string_view library = LibraryOfImport(ecosystem, name);
  if (library.empty()) {
    if (IsStandardLibrary(ecosystem, name)) return std::nullopt;
    library = LibraryInName(ecosystem, name);
  }
  if (library.empty()) {
    // Java's compiler says the same of a package of the program's own.
    if (ecosystem == Ecosystem::kJava) return std::nullopt;
    return MissingImport{std::string(name), ""};
  }
  absl::StatusOr<std::string> normal =
      ParseLibraryName(ecosystem, StdView(library));
  if (!normal.ok()) return std::nullopt;
  return MissingImport{std::string(name), *std::move(normal)};
}

std::string MissingImportWords(Ecosystem ecosystem,
                               const MissingImport& missing) {
  if (missing.library.empty()) {
    return absl::StrCat(
        "The import ", Quoted(missing.name),
        " is neither a file of the program nor in a library that is known "
        "here. If a library has it, look up that library's own name, which may "
        "differ, and ask for it with --library NAME, or \"libraries\": "
        "[\"NAME\"] in the request.");
  }
  // Maven doesn't accept a name without a version.
  const std::string asked = ecosystem == Ecosystem::kJava
                                ? absl::StrCat(missing.library, ":VERSION")
                                : missing.library;
  return absl::StrCat(
      "The import ", Quoted(missing.name), " is in the library ",
      Quoted(missing.library), ": ask for it with --library ", asked,
      ", or \"libraries\": [", Quoted(asked), "] in the request.");
}

}  // namespace sandglass::policy
