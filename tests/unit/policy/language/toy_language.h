#ifndef SANDGLASS_TESTS_UNIT_POLICY_LANGUAGE_TOY_LANGUAGE_H_
#define SANDGLASS_TESTS_UNIT_POLICY_LANGUAGE_TOY_LANGUAGE_H_

#include <string>
#include <utility>
#include <vector>

#include "policy/language/language.h"

namespace sandglass::policy {

// A language with nothing wrong.
inline Language Good() {
  return {.id = "toy",
          .name = "Toy",
          .aliases = {"t", "toy++"},
          .extensions = {".toy"},
          .interpreters = {"toyc"},
          .source_file = "main.toy",
          .run = {"/usr/bin/toy", "${source}"},
          .version = {"/usr/bin/toy", "-V"}};
}

// What is wrong with these; empty: nothing.
inline std::string CreateError(std::vector<Language> languages) {
  return std::string(
      LanguageTable::Create(std::move(languages)).status().message());
}

}  // namespace sandglass::policy

#endif  // SANDGLASS_TESTS_UNIT_POLICY_LANGUAGE_TOY_LANGUAGE_H_
