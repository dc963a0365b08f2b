#include "policy/language.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/json_reader.h"
#include "policy/names.h"
#include "policy/paths.h"

namespace sandglass::policy {
namespace {

constexpr absl::string_view kSource = "${source}";

// A problem at a JSON pointer of a language's file.
struct Problem {
  std::string pointer;
  std::string message;
};

// Aliases may be spelled as people know them: "c++", "objective-c", "f#".
bool IsAlias(const std::string& text) {
  return !text.empty() && text.size() <= 32 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) ||
                  c == '+' || c == '#' || c == '-' || c == '.';
         });
}

bool IsFileName(const std::string& text) {
  return text.find('/') == std::string::npos && ValidateRelativePath(text).ok();
}

std::string At(const char* key, size_t index) {
  return absl::StrCat("/", key, "/", index);
}

void CheckCommand(const char* key, const std::vector<std::string>& command,
                  std::vector<Problem>& problems) {
  if (command.empty()) return;
  if (!absl::StartsWith(command[0], "/")) {
    problems.push_back(
        {At(key, 0), absl::StrCat("\"", absl::Utf8SafeCEscape(command[0]),
                                  "\" is no absolute path")});
  }
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i].find('\0') != std::string::npos) {
      problems.push_back({At(key, i), "has a NUL character"});
    }
    for (size_t at = command[i].find("${"); at != std::string::npos;
         at = command[i].find("${", at + 1)) {
      if (command[i].compare(at, kSource.size(), kSource.data()) != 0) {
        problems.push_back(
            {At(key, i), "\"${source}\" is the only placeholder"});
      }
    }
  }
}

bool NamesSource(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const auto& word) {
    return absl::StrContains(word, kSource);
  });
}

// All that is wrong with one language by itself.
std::vector<Problem> Check(const Language& language) {
  std::vector<Problem> problems;
  if (!IsLanguageId(language.id)) {
    problems.push_back(
        {"/", absl::StrCat("the id \"", absl::Utf8SafeCEscape(language.id),
                           "\" (the file's name) has to match "
                           "[a-z][a-z0-9]*, at most 32 characters")});
  }
  if (language.name.empty()) problems.push_back({"/name", "is empty"});
  for (size_t i = 0; i < language.aliases.size(); ++i) {
    if (!IsAlias(language.aliases[i])) {
      problems.push_back(
          {At("aliases", i),
           "aliases match [a-z0-9+#.-]+, at most 32 characters"});
    }
  }
  for (size_t i = 0; i < language.extensions.size(); ++i) {
    const std::string& extension = language.extensions[i];
    if (extension.size() < 2 || extension[0] != '.' || !IsFileName(extension)) {
      problems.push_back(
          {At("extensions", i), "expected an extension such as \".py\""});
    }
  }
  for (size_t i = 0; i < language.interpreters.size(); ++i) {
    if (!IsFileName(language.interpreters[i])) {
      problems.push_back(
          {At("interpreters", i), "expected a name such as \"python3\""});
    }
  }
  if (!IsFileName(language.source_file)) {
    problems.push_back({"/source_file", "expected a name such as \"main.py\""});
  }
  if (language.run.empty()) problems.push_back({"/run", "is empty"});
  if (language.version.empty()) problems.push_back({"/version", "is empty"});
  CheckCommand("compile", language.compile, problems);
  CheckCommand("run", language.run, problems);
  CheckCommand("version", language.version, problems);
  const bool compiled = !language.compile.empty();
  if (!language.run.empty() &&
      !NamesSource(compiled ? language.compile : language.run)) {
    problems.push_back({compiled ? "/compile" : "/run",
                        "no word has \"${source}\", so the program would not "
                        "be read"});
  }
  if (NamesSource(language.version)) {
    problems.push_back({"/version", "there is no \"${source}\" to ask"});
  }
  for (const auto& [name, value] : language.env) {
    if (!IsEnvName(name) || value.find('\0') != std::string::npos) {
      problems.push_back({absl::StrCat("/env/", absl::Utf8SafeCEscape(name)),
                          "names match [A-Za-z_][A-Za-z0-9_]*, values have no "
                          "NUL character"});
    }
  }
  for (size_t i = 0; i < language.start_env.size(); ++i) {
    if (!IsEnvName(language.start_env[i])) {
      problems.push_back(
          {At("start_env", i), "names match [A-Za-z_][A-Za-z0-9_]*"});
    }
  }
  return problems;
}

// Ids and aliases share one space of names; extensions and interpreters have
// one each. A name may stand for one language only.
void CheckUnique(const std::vector<Language>& languages,
                 std::vector<std::string>& errors) {
  std::map<std::pair<std::string, std::string>, std::string> owners;
  const auto claim = [&](const Language& language, const char* space,
                         const std::string& name, const std::string& pointer) {
    const auto [owner, added] = owners.try_emplace({space, name}, language.id);
    if (added) return;
    errors.push_back(absl::StrCat("language ", language.id, ": ", pointer,
                                  ": \"", absl::Utf8SafeCEscape(name),
                                  "\" already stands for ", owner->second));
  };
  // Ids first: an alias must not take another language's id.
  for (const Language& language : languages) {
    claim(language, "name", language.id, "/");
  }
  for (const Language& language : languages) {
    for (size_t i = 0; i < language.aliases.size(); ++i) {
      claim(language, "name", language.aliases[i], At("aliases", i));
    }
    for (size_t i = 0; i < language.extensions.size(); ++i) {
      claim(language, "extension", language.extensions[i], At("extensions", i));
    }
    for (size_t i = 0; i < language.interpreters.size(); ++i) {
      claim(language, "interpreter", language.interpreters[i],
            At("interpreters", i));
    }
  }
}

absl::StatusOr<Language> LoadLanguage(const std::string& id,
                                      const std::string& path) {
  absl::StatusOr<JsonDocument> document = JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  const std::vector<std::string> none;
  Language language;
  language.id = id;
  language.name = root.String("name");
  language.aliases = root.Strings("aliases", none);
  language.extensions = root.Strings("extensions", none);
  language.interpreters = root.Strings("interpreters", none);
  language.source_file = root.String("source_file");
  language.compile = root.Strings("compile", none);
  language.run = root.Strings("run");
  language.version = root.Strings("version");
  language.env = root.StringMap("env", JsonObject::StringPairs());
  language.package = root.String("package", "");
  language.start_env = root.Strings("start_env", none);
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  for (const Problem& problem : Check(language)) {
    root.AddErrorAt(problem.pointer, problem.message);
  }
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return language;
}

}  // namespace

absl::StatusOr<LanguageTable> LanguageTable::Load(
    const std::string& directory) {
  const auto files = ListJsonFiles(directory);
  if (!files.ok()) return files.status();
  std::vector<Language> languages;
  std::vector<std::string> errors;
  for (const auto& [id, path] : *files) {
    absl::StatusOr<Language> language = LoadLanguage(id, path);
    if (language.ok()) {
      languages.push_back(*std::move(language));
    } else {
      errors.emplace_back(language.status().message());
    }
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  absl::StatusOr<LanguageTable> table = Create(std::move(languages));
  if (!table.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": ", table.status().message()));
  }
  return table;
}

absl::StatusOr<LanguageTable> LanguageTable::Create(
    std::vector<Language> languages) {
  std::vector<std::string> errors;
  for (const Language& language : languages) {
    for (const Problem& problem : Check(language)) {
      errors.push_back(absl::StrCat("language ", language.id, ": ",
                                    problem.pointer, ": ", problem.message));
    }
  }
  CheckUnique(languages, errors);
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  LanguageTable table;
  table.languages_ = std::move(languages);
  return table;
}

const Language* LanguageTable::Find(std::string_view id_or_alias) const {
  const std::string name =
      absl::AsciiStrToLower({id_or_alias.data(), id_or_alias.size()});
  for (const Language& language : languages_) {
    if (language.id == name ||
        std::find(language.aliases.begin(), language.aliases.end(), name) !=
            language.aliases.end()) {
      return &language;
    }
  }
  return nullptr;
}

}  // namespace sandglass::policy
