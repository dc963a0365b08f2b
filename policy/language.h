#ifndef SANDGLASS_POLICY_LANGUAGE_H_
#define SANDGLASS_POLICY_LANGUAGE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// One language as its file under policy/data/languages/ describes it.
struct Language {
  std::string id;    // file name without ".json": [a-z][a-z0-9]*
  std::string name;  // for people, for example "Python"
  std::vector<std::string> aliases;
  std::vector<std::string> extensions;    // with the dot
  std::vector<std::string> interpreters;  // shebang basenames, "python3"
  std::string source_file;  // name below /workspace, for example "main.py"
  // Absolute command, then arguments. "${source}" stands for source_file; the
  // request's args follow. Empty compile means no compile phase.
  std::vector<std::string> compile;
  std::vector<std::string> run;
  std::vector<std::string> version;  // prints the runtime's version
  std::vector<std::pair<std::string, std::string>> env;
  std::string package;  // Debian package that provides it
  // Environment names that act before user code can, so that a request which
  // sets one needs a fresh interpreter.
  std::vector<std::string> start_env;
};

// All languages, ids and aliases unique.
class LanguageTable {
 public:
  // Reads every *.json in `directory`. Errors name file and JSON pointer.
  static absl::StatusOr<LanguageTable> Load(const std::string& directory);
  static absl::StatusOr<LanguageTable> Create(std::vector<Language> languages);

  // By id or alias, in any case; nullptr when there is none. The pointer lives
  // as long as the table.
  const Language* Find(std::string_view id_or_alias) const;
  const std::vector<Language>& languages() const { return languages_; }

 private:
  std::vector<Language> languages_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_H_
