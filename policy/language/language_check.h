#ifndef SANDGLASS_POLICY_LANGUAGE_LANGUAGE_CHECK_H_
#define SANDGLASS_POLICY_LANGUAGE_LANGUAGE_CHECK_H_

#include <string>
#include <vector>

#include "policy/language/language.h"

namespace sandglass::policy {

// A problem at a JSON pointer of a language's file.
struct LanguageProblem {
  std::string pointer;
  std::string message;
};

// Everything that is wrong with one language by itself.
std::vector<LanguageProblem> CheckLanguage(const Language& language);

// The names that two languages claim, one sentence for each.
std::vector<std::string> CheckUnique(const std::vector<Language>& languages);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LANGUAGE_LANGUAGE_CHECK_H_
