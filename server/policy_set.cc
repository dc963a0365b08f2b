#include "server/policy_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/seccomp.h"

namespace sandglass::server {

absl::StatusOr<PolicySet> PolicySet::Create(
    policy::LanguageTable languages, std::vector<policy::Profile> profiles) {
  for (const policy::Language& language : languages.languages()) {
    if (!language.compile.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "language ", language.id,
          ": /compile: this daemon runs languages without a compile phase"));
    }
    if (language.run.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("language ", language.id, ": /run: is empty"));
    }
  }
  for (const policy::Profile& profile : profiles) {
    for (const std::string& id : profile.languages) {
      const policy::Language* language = languages.Find(id);
      if (language == nullptr || language->id != id) {
        return absl::InvalidArgumentError(
            absl::StrCat("profile ", profile.name, ": /languages: \"", id,
                         "\" is not a language's id"));
      }
    }
  }
  PolicySet set(std::move(languages), std::move(profiles));
  if (set.FindProfile("") == nullptr) {
    return absl::InvalidArgumentError(
        "there is no profile \"default\", which requests without a profile "
        "run under");
  }
  return set;
}

absl::StatusOr<PolicySet> PolicySet::Load(const std::string& directory) {
  absl::StatusOr<policy::LanguageTable> languages =
      policy::LanguageTable::Load(absl::StrCat(directory, "/languages"));
  if (!languages.ok()) return languages.status();
  absl::StatusOr<std::vector<policy::Profile>> profiles =
      policy::LoadProfiles(absl::StrCat(directory, "/profiles"));
  if (!profiles.ok()) return profiles.status();
  absl::StatusOr<PolicySet> set =
      Create(*std::move(languages), *std::move(profiles));
  if (!set.ok()) return set.status();

  // Profiles share filters; each is compiled once.
  std::map<std::string, policy::BpfProgram> filters;
  for (const policy::Profile& profile : set->profiles_) {
    auto filter = filters.find(profile.seccomp);
    if (filter == filters.end()) {
      absl::StatusOr<policy::SeccompPolicy> rules = policy::SeccompPolicy::Load(
          absl::StrCat(directory, "/seccomp"), profile.seccomp);
      if (!rules.ok()) return rules.status();
      absl::StatusOr<policy::BpfProgram> program = rules->Compile();
      if (!program.ok()) return program.status();
      filter = filters.emplace(profile.seccomp, *std::move(program)).first;
    }
    set->templates_.push_back({.name = profile.name,
                               .maximum = profile.maximum,
                               .seccomp = filter->second});
  }
  return set;
}

const policy::Profile* PolicySet::FindProfile(const std::string& name) const {
  const std::string wanted = name.empty() ? "default" : name;
  const auto it =
      std::find_if(profiles_.begin(), profiles_.end(),
                   [&](const policy::Profile& p) { return p.name == wanted; });
  return it == profiles_.end() ? nullptr : &*it;
}

}  // namespace sandglass::server
