#include "server/library_checks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/library_lock.h"
#include "policy/library_policy.h"
#include "server/errors.h"
#include "server/text.h"

namespace sandglass::server {

absl::StatusOr<std::optional<WantedLibraries>> CheckLibraries(
    const LibraryWish& wish, const policy::Language* language,
    const policy::Profile* profile, Violations& violations) {
  if (wish.empty() || language == nullptr) return std::nullopt;
  const std::optional<policy::Ecosystem> ecosystem =
      policy::EcosystemOfLanguage(language->id);
  if (!ecosystem || !language->libraries) {
    violations.push_back(
        {wish.libraries.empty() ? "library_lock" : "libraries",
         absl::StrCat(language->name, " has none to ask for")});
    return std::nullopt;
  }
  const absl::StatusOr<policy::LibrarySet> set =
      policy::ParseLibraryRequest(*ecosystem, wish.libraries, wish.lock);
  if (!set.ok()) {
    violations.push_back({std::string(policy::LibraryErrorField(set.status())),
                          std::string(set.status().message())});
    return std::nullopt;
  }
  if (profile == nullptr) return std::nullopt;
  static const policy::LibraryPolicy kNone;
  policy::LibraryDecision decision = policy::Decide(
      profile->libraries == nullptr ? kNone : *profile->libraries, *set);
  if (!decision.allowed) {
    return LibrariesDenied(profile->name, decision.reason);
  }
  return WantedLibraries{
      *std::move(decision.libraries), decision.offline, wish,
      profile->image == policy::kHostImage ? "" : profile->image};
}

}  // namespace sandglass::server
