#include "client/run/language_guess.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/base/terminal_filter.h"
#include "policy/text/known_languages.h"
#include "policy/text/views.h"

namespace sandglass::client {
namespace {

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// The extension, "py" for "a/b.py"; empty for "Makefile" and ".bashrc".
absl::string_view Extension(absl::string_view file_name) {
  const absl::string_view base = BaseName(file_name);
  const size_t dot = base.rfind('.');
  return dot == absl::string_view::npos || dot == 0 ? "" : base.substr(dot + 1);
}

bool HasName(const v1::LanguageInfo& language, absl::string_view name) {
  if (absl::EqualsIgnoreCase(language.id(), name)) return true;
  for (const std::string& alias : language.aliases()) {
    if (absl::EqualsIgnoreCase(alias, name)) return true;
  }
  return false;
}

bool HasExtension(const v1::LanguageInfo& language,
                  absl::string_view extension) {
  for (const std::string& own : language.file_extensions()) {
    if (absl::EqualsIgnoreCase(absl::StripPrefix(own, "."), extension)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ShebangInterpreter(absl::string_view code) {
  if (!absl::ConsumePrefix(&code, "#!")) return "";
  const absl::string_view line = code.substr(0, code.find_first_of("\r\n"));
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty()) return "";
  const absl::string_view program = BaseName(words[0]);
  if (program != "env") return std::string(program);
  for (size_t i = 1; i < words.size(); ++i) {
    const bool option = absl::StartsWith(words[i], "-");
    if (!option && !absl::StrContains(words[i], "=")) {
      return std::string(BaseName(words[i]));
    }
  }
  return "";
}

absl::StatusOr<std::string> GuessLanguage(
    absl::string_view file_name, absl::string_view code,
    const v1::GetServerInfoResponse& server) {
  const absl::string_view extension = Extension(file_name);
  if (!extension.empty()) {
    for (const v1::LanguageInfo& language : server.languages()) {
      if (HasExtension(language, extension)) return language.id();
    }
  }
  const std::string interpreter = ShebangInterpreter(code);
  absl::string_view unversioned = interpreter;
  while (!unversioned.empty() &&
         absl::StrContains("0123456789.",
                           unversioned.substr(unversioned.size() - 1))) {
    unversioned.remove_suffix(1);
  }
  for (const absl::string_view name :
       {absl::string_view(interpreter), unversioned}) {
    if (name.empty()) continue;
    for (const v1::LanguageInfo& language : server.languages()) {
      if (HasName(language, name)) return language.id();
    }
  }

  std::vector<std::string> reasons;
  if (!extension.empty()) {
    const policy::KnownLanguage* known =
        policy::FindKnownLanguage(policy::StdView(extension));
    reasons.push_back(
        known == nullptr
            ? absl::StrCat("no language has the extension '.", extension, "'")
            : absl::StrCat("'.", extension, "' is ",
                           policy::AbslView(known->name),
                           ", which this daemon does not offer: ",
                           policy::HowToAdd(*known)));
  }
  reasons.push_back(interpreter.empty()
                        ? "it has no #! line"
                        : absl::StrCat("no language is called '", interpreter,
                                       "' as its #! line says"));
  const std::string list =
      absl::StrJoin(server.languages(), ", ",
                    [](std::string* out, const v1::LanguageInfo& language) {
                      absl::StrAppend(out, language.id());
                    });
  return absl::InvalidArgumentError(VisibleText(absl::StrCat(
      "cannot tell the program's language: ", absl::StrJoin(reasons, " and "),
      "; give --lang with one of: ", list)));
}

}  // namespace sandglass::client
