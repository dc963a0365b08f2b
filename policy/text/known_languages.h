#ifndef SANDGLASS_POLICY_TEXT_KNOWN_LANGUAGES_H_
#define SANDGLASS_POLICY_TEXT_KNOWN_LANGUAGES_H_

#include <string>
#include <string_view>

namespace sandglass::policy {

// A programming language that people ask for, and that no file of ours defines.
struct KnownLanguage {
  std::string_view id;       // the name that its file would have
  std::string_view name;     // "TypeScript"
  std::string_view words;    // what else it is called, endings of files too
  std::string_view package;  // the Debian 12 package; empty: there is none
};

// The one that is meant by this name, alias or ending of a file, without its
// dot and in any case; null when none is.
const KnownLanguage* FindKnownLanguage(std::string_view word);

// What adds it: "a file languages/rust.json in the daemon's policy_dir adds it
// (Debian package rustc)".
std::string HowToAdd(const KnownLanguage& language);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_KNOWN_LANGUAGES_H_
