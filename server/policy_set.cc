#include "server/policy_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/seccomp.h"

namespace sandglass::server {

namespace {

constexpr char kDefaultProfile[] = "default";

bool Allows(const policy::Profile& profile, const policy::Language& language) {
  return profile.languages.empty() ||
         std::find(profile.languages.begin(), profile.languages.end(),
                   language.id) != profile.languages.end();
}

// All that a language may raise a profile's limits to, each with its pointer.
std::vector<std::pair<const char*, const policy::LimitFloors*>> FloorsOf(
    const policy::Language& language, const policy::Profile& profile) {
  std::vector<std::pair<const char*, const policy::LimitFloors*>> floors;
  if (Allows(profile, language)) {
    floors.emplace_back("/limits", &language.limits);
  }
  if (Allows(profile, language) && language.compile) {
    floors.emplace_back("/compile/limits", &language.compile->limits);
  }
  // Preparations run under the default profile, whatever that allows.
  if (profile.name == kDefaultProfile && language.prepare) {
    floors.emplace_back("/prepare/limits", &language.prepare->limits);
  }
  return floors;
}

policy::RuleLanguages LanguagesFor(const policy::LanguageTable& table,
                                   const policy::Profile& profile) {
  policy::RuleLanguages languages;
  languages.allowed = profile.languages;
  for (const policy::Language& language : table.languages()) {
    languages.known.push_back(language.id);
    if (language.analyser) languages.analysed.push_back(language.id);
  }
  return languages;
}

absl::Status CheckRaised(const policy::Profile& profile,
                         const policy::Language& language) {
  for (const auto& [pointer, floors] : FloorsOf(language, profile)) {
    policy::Limits limits = profile.limits;
    policy::RaiseTo(*floors, limits);
    const auto problems = policy::CheckLimits(limits, pointer);
    if (problems.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("language ", language.id, " under profile ", profile.name,
                     ": ", problems[0].field, ": ", problems[0].description));
  }
  return absl::OkStatus();
}

absl::StatusOr<policy::BpfProgram> CompileFilter(
    const std::string& directory, const policy::Profile& profile) {
  const std::string seccomp = absl::StrCat(directory, "/seccomp");
  absl::StatusOr<policy::SeccompPolicy> rules = policy::SeccompPolicy::Load(
      seccomp, profile.seccomp, profile.seccomp_add);
  if (!rules.ok() && !profile.seccomp_add.empty()) {
    // The fault may be the choice, and not in a file that the message names.
    return absl::Status(
        rules.status().code(),
        absl::StrCat("profile ", profile.name,
                     ": /seccomp_add: ", rules.status().message()));
  }
  if (!rules.ok()) return rules.status();
  return rules->Compile();
}

}  // namespace

absl::Status PolicySet::CheckProfile(const policy::LanguageTable& languages,
                                     const policy::Profile& profile) {
  for (const std::string& id : profile.languages) {
    const policy::Language* language = languages.Find(id);
    if (language == nullptr || language->id != id) {
      return absl::InvalidArgumentError(
          absl::StrCat("profile ", profile.name, ": /languages: \"", id,
                       "\" is not a language's id"));
    }
  }
  const absl::Status rules =
      policy::CheckRules(profile.rules, LanguagesFor(languages, profile));
  if (!rules.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", profile.name, ": ", rules.message()));
  }
  for (const policy::Language& language : languages.languages()) {
    if (absl::Status fits = CheckRaised(profile, language); !fits.ok()) {
      return fits;
    }
  }
  return absl::OkStatus();
}

std::string PolicySet::FilterName(const policy::Profile& profile) {
  // Additions decide nothing by their order.
  std::vector<std::string> additions = profile.seccomp_add;
  std::sort(additions.begin(), additions.end());
  additions.insert(additions.begin(), profile.seccomp);
  return absl::StrJoin(additions, "+");
}

absl::StatusOr<PolicySet> PolicySet::Create(
    policy::LanguageTable languages, std::vector<policy::Profile> profiles) {
  for (const policy::Profile& profile : profiles) {
    if (absl::Status good = CheckProfile(languages, profile); !good.ok()) {
      return good;
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
  absl::StatusOr<policy::RedactionList> redactions =
      policy::RedactionList::Load(absl::StrCat(directory, "/redaction.json"));
  // Profiles that name none of its patterns do without the file.
  if (absl::IsNotFound(redactions.status())) {
    redactions = policy::RedactionList();
  }
  if (!redactions.ok()) return redactions.status();
  absl::StatusOr<std::vector<policy::Profile>> profiles =
      policy::LoadProfiles(absl::StrCat(directory, "/profiles"), *redactions);
  if (!profiles.ok()) return profiles.status();
  absl::StatusOr<PolicySet> set =
      Create(*std::move(languages), *std::move(profiles));
  if (!set.ok()) return set.status();

  // Profiles share filters; each is compiled once.
  std::map<std::string, policy::BpfProgram> filters;
  for (const policy::Profile& profile : set->profiles_) {
    const std::string name = FilterName(profile);
    auto filter = filters.find(name);
    if (filter == filters.end()) {
      absl::StatusOr<policy::BpfProgram> program =
          CompileFilter(directory, profile);
      if (!program.ok()) return program.status();
      filter = filters.emplace(name, *std::move(program)).first;
    }
    set->templates_.push_back({.name = profile.name,
                               .maximum = set->HighestLimits(profile),
                               .seccomp = filter->second});
  }
  return set;
}

bool PolicySet::asks_for_approval() const {
  return std::any_of(
      profiles_.begin(), profiles_.end(), [](const policy::Profile& profile) {
        return std::any_of(profile.rules.begin(), profile.rules.end(),
                           [](const policy::Rule& rule) {
                             return rule.severity ==
                                    policy::Severity::kRequireApproval;
                           });
      });
}

policy::Limits PolicySet::HighestLimits(const policy::Profile& profile) const {
  policy::Limits highest = profile.maximum;
  for (const policy::Language& language : languages_.languages()) {
    for (const auto& [pointer, floors] : FloorsOf(language, profile)) {
      policy::Limits raised = profile.maximum;
      policy::RaiseTo(*floors, raised);
      highest = policy::HigherOf(highest, raised);
    }
  }
  return highest;
}

const policy::Profile* PolicySet::FindProfile(const std::string& name) const {
  const std::string wanted = name.empty() ? kDefaultProfile : name;
  const auto it =
      std::find_if(profiles_.begin(), profiles_.end(),
                   [&](const policy::Profile& p) { return p.name == wanted; });
  return it == profiles_.end() ? nullptr : &*it;
}

}  // namespace sandglass::server
