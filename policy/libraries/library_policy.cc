#include "policy/libraries/library_policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/libraries/library_lock.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

std::string NameOf(Ecosystem ecosystem) {
  return std::string(EcosystemName(ecosystem));
}

// The part of the name before "*", in the normal form of names.
absl::StatusOr<std::string> NormalPrefix(Ecosystem ecosystem,
                                         absl::string_view text) {
  const absl::string_view before = text.substr(0, text.size() - 1);
  if (before.empty()) {
    return RefuseLibrary(text,
                         "is for all libraries; leave the list out instead");
  }
  if (!absl::StrContains("/.:-_", before.substr(before.size() - 1))) {
    return RefuseLibrary(text,
                         "has \"*\" after a letter or digit; write it after "
                         "\"/\", \".\", \":\" or \"-\"");
  }
  // With a letter after it, it has to be a valid name.
  std::string probe = absl::StrCat(before, "x");
  if (ecosystem == Ecosystem::kNode && before[0] == '@' &&
      !absl::StrContains(before, "/")) {
    return RefuseLibrary(text, "ends in a scope; write \"@scope/*\"");
  }
  if (ecosystem == Ecosystem::kJava && !absl::StrContains(before, ":")) {
    absl::StatusOr<std::string> name =
        ParseLibraryName(ecosystem, absl::StrCat(probe, ":x"));
    if (!name.ok()) return RefuseLibrary(text, "is no beginning of a group");
    return std::string(before);
  }
  absl::StatusOr<std::string> name = ParseLibraryName(ecosystem, probe);
  if (!name.ok()) return RefuseLibrary(text, "is no beginning of a name");
  name->pop_back();
  return name;
}

absl::StatusOr<Library> ParseEntry(Ecosystem ecosystem, std::string_view text) {
  if (ecosystem != Ecosystem::kJava && ecosystem != Ecosystem::kGo) {
    return ParseLibrary(ecosystem, text);
  }
  // A name without a version means any version here, even where a request has
  // to name one or gets the newest.
  absl::StatusOr<std::string> name = ParseLibraryName(ecosystem, text);
  if (!name.ok()) return ParseLibrary(ecosystem, text);
  Library library;
  library.ecosystem = ecosystem;
  library.name = *std::move(name);
  return library;
}

// The request's library with the entry's version added; nullopt when the two
// are incompatible.
std::optional<Library> Joined(const Library& asked, const Library& entry) {
  if (entry.version.empty() || entry.version == asked.version) return asked;
  Library joined = asked;
  const bool any =
      asked.version.empty() ||
      (asked.ecosystem == Ecosystem::kGo && asked.version == "latest");
  if (any) {
    joined.version = entry.version;
    return joined;
  }
  if (asked.ecosystem != Ecosystem::kPython) return std::nullopt;
  joined.version = absl::StrCat(asked.version, ",", entry.version);
  // Sorts the clauses and removes duplicates.
  absl::StatusOr<Library> normal =
      ParseLibrary(asked.ecosystem, joined.ToArgument());
  if (!normal.ok()) return std::nullopt;
  return *std::move(normal);
}

std::string NamesWords(size_t count) {
  return count == 1 ? "1 name" : absl::StrCat(count, " names");
}

// Why a library is refused in every version; empty: it isn't.
std::string WhyDenied(const LibraryPolicy& policy, const LibraryRules& rules,
                      const Library& library) {
  for (const LibraryPattern& pattern : rules.deny) {
    if (!pattern.Matches(library)) continue;
    return absl::StrCat("library ", Quoted(library.name), " is refused by ",
                        Quoted(pattern.ToString()), " in profile ",
                        Quoted(policy.profile), "'s \"deny\" list for ",
                        NameOf(library.ecosystem));
  }
  return "";
}

// The library as it will be installed, or why it is refused.
struct One {
  std::optional<Library> library;
  std::string reason;
};

One DecideOne(const LibraryPolicy& policy, const LibraryRules& rules,
              const Library& asked) {
  const std::string library = absl::StrCat("library ", Quoted(asked.name));
  const std::string profile =
      absl::StrCat("profile ", Quoted(policy.profile), "'s ");
  const std::string language = NameOf(asked.ecosystem);
  if (std::string why = WhyDenied(policy, rules, asked); !why.empty()) {
    return {std::nullopt, std::move(why)};
  }
  if (rules.any) return {asked, ""};
  const LibraryPattern* nearest = nullptr;
  for (const LibraryPattern& pattern : rules.allow) {
    if (!pattern.Matches(asked)) continue;
    if (pattern.is_prefix()) return {asked, ""};
    std::optional<Library> joined = Joined(asked, pattern.library());
    if (joined) return {std::move(joined), ""};
    nearest = &pattern;
  }
  if (nearest != nullptr) {
    return {std::nullopt,
            absl::StrCat(Quoted(asked.ToArgument()), " isn't what ", profile,
                         "list for ", language, " has, which is ",
                         Quoted(nearest->ToString()),
                         "; ask for that, or for the name alone")};
  }
  return {std::nullopt,
          absl::StrCat(library, " isn't in ", profile, "list for ", language,
                       "; it has ", NamesWords(rules.allow.size()))};
}

}  // namespace

absl::StatusOr<LibraryPattern> LibraryPattern::Parse(Ecosystem ecosystem,
                                                     std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  LibraryPattern pattern;
  pattern.library_.ecosystem = ecosystem;
  const size_t star = text.find('*');
  // As in "numpy==1.*". A module's path may contain "~".
  const absl::string_view marks = ecosystem == Ecosystem::kGo ? "@" : "=<>~^ ";
  const bool in_version =
      view.find_first_of(marks) < star || view.find('@', 1) < star;
  if (star == std::string_view::npos || in_version) {
    absl::StatusOr<Library> library = ParseEntry(ecosystem, text);
    if (!library.ok()) return library.status();
    pattern.library_ = *std::move(library);
    return pattern;
  }
  if (star + 1 != text.size()) {
    return RefuseLibrary(view, "has \"*\" before its end; only the end may be");
  }
  absl::StatusOr<std::string> prefix = NormalPrefix(ecosystem, view);
  if (!prefix.ok()) return prefix.status();
  pattern.library_.name = *std::move(prefix);
  pattern.prefix_ = true;
  return pattern;
}

bool LibraryPattern::Matches(const Library& library) const {
  if (library.ecosystem != library_.ecosystem) return false;
  return prefix_ ? absl::StartsWith(library.name, library_.name)
                 : library.name == library_.name;
}

std::string LibraryPattern::ToString() const {
  return prefix_ ? absl::StrCat(library_.name, "*") : library_.ToArgument();
}

LibraryDecision Decide(const LibraryPolicy& policy, const LibrarySet& set) {
  LibraryDecision decision;
  decision.allowed = true;
  decision.libraries = set;
  if (set.empty()) return decision;
  const auto refuse = [](std::string reason) {
    LibraryDecision refusal;
    refusal.reason = std::move(reason);
    return refusal;
  };
  const auto rules = policy.rules.find(set.ecosystem());
  if (rules == policy.rules.end()) {
    const std::string language = NameOf(set.ecosystem());
    return refuse(absl::StrCat(
        "profile ", Quoted(policy.profile), " takes no libraries for ",
        language, "; its operator allows them with \"libraries\": {\"",
        language, "\": {\"allow\": [...]}} in the profile"));
  }
  decision.offline = rules->second.offline;
  std::vector<Library> libraries;
  for (const Library& asked : set.libraries()) {
    One one = DecideOne(policy, rules->second, asked);
    if (!one.library) return refuse(std::move(one.reason));
    libraries.push_back(*std::move(one.library));
  }
  if (set.lock() != nullptr) {
    for (const Library& entry : set.lock()->entries) {
      std::string why = WhyDenied(policy, rules->second, entry);
      if (!why.empty()) return refuse(absl::StrCat(why, "; the lock has it"));
    }
  }
  absl::StatusOr<LibrarySet> joined =
      LibrarySet::Make(set.ecosystem(), std::move(libraries), set.lock());
  if (!joined.ok()) return refuse(std::string(joined.status().message()));
  decision.libraries = *std::move(joined);
  return decision;
}

}  // namespace sandglass::policy
