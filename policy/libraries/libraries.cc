#include "policy/libraries/libraries.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/libraries/library_lock.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

absl::StatusOr<Library> ParseChecked(Ecosystem ecosystem,
                                     absl::string_view text) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return ParsePython(text);
    case Ecosystem::kNode:
      return ParseNode(text);
    case Ecosystem::kGo:
      return ParseGo(text);
    case Ecosystem::kRuby:
      return ParseRuby(text);
    case Ecosystem::kJava:
      return ParseJava(text);
  }
  return absl::InvalidArgumentError("there is no such ecosystem");
}

std::optional<std::string> NameOf(Ecosystem ecosystem, absl::string_view text) {
  if (text.size() > kMaxLibraryName) return std::nullopt;
  switch (ecosystem) {
    case Ecosystem::kPython:
      return PythonName(text);
    case Ecosystem::kNode:
      return NodeName(text);
    case Ecosystem::kGo:
      return GoModule(text);
    case Ecosystem::kRuby:
      return RubyName(text);
    case Ecosystem::kJava:
      return JavaName(text);
  }
  return std::nullopt;
}

}  // namespace

std::string_view EcosystemName(Ecosystem ecosystem) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return "python";
    case Ecosystem::kNode:
      return "javascript";
    case Ecosystem::kGo:
      return "go";
    case Ecosystem::kRuby:
      return "ruby";
    case Ecosystem::kJava:
      return "java";
  }
  return "";
}

std::optional<Ecosystem> EcosystemOfLanguage(std::string_view language) {
  for (const Ecosystem ecosystem : kEcosystems) {
    if (EcosystemName(ecosystem) == language) return ecosystem;
  }
  return std::nullopt;
}

std::string Library::ToArgument() const {
  std::string with_extras =
      extras.empty() ? name
                     : absl::StrCat(name, "[", absl::StrJoin(extras, ","), "]");
  if (version.empty()) return with_extras;
  switch (ecosystem) {
    case Ecosystem::kPython:
      return absl::StrCat(with_extras, version);
    case Ecosystem::kNode:
    case Ecosystem::kGo:
      return absl::StrCat(name, "@", version);
    case Ecosystem::kRuby:
    case Ecosystem::kJava:
      return absl::StrCat(name, ":", version);
  }
  return with_extras;
}

absl::StatusOr<Library> ParseLibrary(Ecosystem ecosystem,
                                     std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  if (absl::Status checked = CheckLibraryText(ecosystem, view); !checked.ok()) {
    return checked;
  }
  absl::StatusOr<Library> library = ParseChecked(ecosystem, view);
  if (!library.ok()) return library;
  library->ecosystem = ecosystem;
  if (library->name.size() > kMaxLibraryName) {
    return RefuseLibrary(
        view, absl::StrCat("has a name of ", library->name.size(),
                           " bytes; a library's may have ", kMaxLibraryName));
  }
  return library;
}

absl::StatusOr<std::string> ParseLibraryName(Ecosystem ecosystem,
                                             std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  if (absl::Status checked = CheckLibraryText(ecosystem, view); !checked.ok()) {
    return checked;
  }
  std::optional<std::string> name = NameOf(ecosystem, view);
  if (name) return *std::move(name);
  return RefuseLibrary(view,
                       absl::StrCat("is no name of a library; write one as in ",
                                    Quoted(std::string(ExampleOf(ecosystem)))));
}

absl::StatusOr<LibrarySet> LibrarySet::Parse(
    Ecosystem ecosystem, const std::vector<std::string>& texts) {
  if (texts.size() > kMaxLibraries) {
    return absl::InvalidArgumentError(
        absl::StrCat("libraries has ", texts.size(), " entries; at most ",
                     kMaxLibraries, " are taken"));
  }
  std::vector<Library> libraries;
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::StatusOr<Library> library = ParseLibrary(ecosystem, texts[i]);
    if (!library.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("libraries[", i, "]: ", library.status().message()));
    }
    libraries.push_back(*std::move(library));
  }
  return Make(ecosystem, std::move(libraries));
}

absl::StatusOr<LibrarySet> LibrarySet::Make(
    Ecosystem ecosystem, std::vector<Library> libraries,
    std::shared_ptr<const LibraryLock> lock) {
  const size_t max = lock == nullptr ? kMaxLibraries : kMaxLockEntries;
  if (libraries.size() > max) {
    return absl::InvalidArgumentError(
        absl::StrCat("libraries has ", libraries.size(), " entries; at most ",
                     max, " are taken"));
  }
  std::sort(libraries.begin(), libraries.end(),
            [](const Library& a, const Library& b) {
              return std::pair(a.name, a.ToArgument()) <
                     std::pair(b.name, b.ToArgument());
            });
  libraries.erase(std::unique(libraries.begin(), libraries.end()),
                  libraries.end());
  for (size_t i = 1; i < libraries.size(); ++i) {
    if (libraries[i].name != libraries[i - 1].name) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "libraries names ", Quoted(libraries[i].name), " twice, as ",
        Quoted(libraries[i - 1].ToArgument()), " and as ",
        Quoted(libraries[i].ToArgument()), "; name it once"));
  }
  return LibrarySet(ecosystem, std::move(libraries), std::move(lock));
}

bool operator==(const LibrarySet& a, const LibrarySet& b) {
  if (a.ecosystem_ != b.ecosystem_ || a.libraries_ != b.libraries_) {
    return false;
  }
  if (a.lock_ == nullptr || b.lock_ == nullptr) return a.lock_ == b.lock_;
  return *a.lock_ == *b.lock_;
}

std::string LibrarySet::Canonical() const {
  return absl::StrJoin(ToArguments(), "\n");
}

std::vector<std::string> LibrarySet::ToArguments() const {
  std::vector<std::string> arguments;
  for (const Library& library : libraries_) {
    arguments.push_back(library.ToArgument());
  }
  return arguments;
}

}  // namespace sandglass::policy
