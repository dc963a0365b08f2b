#include "server/live_policy/policy_set.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/limits/limit_fields.h"
#include "policy/seccomp/seccomp.h"
#include "policy/seccomp/seccomp_start.h"
#include "sandbox/os/files.h"
#include "server/base/digest.h"

namespace sandglass::server {

namespace {

constexpr char kDefaultProfile[] = "default";

// The ending of the names of templates whose jails have a network.
constexpr char kWithNetwork[] = "+network";

// Everything that a language may raise a profile's limits to, each with its
// JSON pointer.
std::vector<std::pair<const char*, const policy::LimitFloors*>> FloorsOf(
    const policy::Language& language, const policy::Profile& profile) {
  std::vector<std::pair<const char*, const policy::LimitFloors*>> floors;
  if (policy::AllowsLanguage(profile, language.id)) {
    floors.emplace_back("/limits", &language.limits);
    if (language.compile) {
      floors.emplace_back("/compile/limits", &language.compile->limits);
    }
  }
  // Preparations run under the default profile, whether or not it allows the
  // language.
  if (profile.name == kDefaultProfile && language.prepare) {
    floors.emplace_back("/prepare/limits", &language.prepare->limits);
  }
  return floors;
}

// The highest limits that any run under the profile may have, whatever its
// language.
policy::Limits HighestLimits(const policy::LanguageTable& languages,
                             const policy::Profile& profile) {
  policy::Limits highest = profile.maximum;
  for (const policy::Language& language : languages.languages()) {
    for (const auto& [pointer, floors] : FloorsOf(language, profile)) {
      policy::Limits raised = profile.maximum;
      policy::RaiseTo(*floors, raised);
      highest = policy::HigherOf(highest, raised);
    }
  }
  return highest;
}

policy::RuleLanguages LanguagesFor(const policy::LanguageTable& table,
                                   const policy::Profile& profile) {
  policy::RuleLanguages languages;
  languages.allowed = profile.languages;
  for (const policy::Language& language : *table.LanguagesIn(profile.image)) {
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

absl::Status CheckImage(const policy::LanguageTable& languages,
                        const policy::Profile& profile) {
  if (languages.LanguagesIn(profile.image) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", profile.name, ": /image: there is no image \"",
                     profile.image,
                     "\"; there are: ", absl::StrJoin(languages.images(), ", "),
                     ". The daemon's configuration names them (\"images\")"));
  }
  // The languages' preparations run under this profile, in the host's image.
  if (profile.name == kDefaultProfile && profile.image != policy::kHostImage) {
    return absl::InvalidArgumentError(absl::StrCat(
        "profile ", profile.name, ": /image: this profile has the image \"",
        std::string(policy::kHostImage), "\" always; name another profile"));
  }
  return absl::OkStatus();
}

absl::StatusOr<policy::BpfProgram> CompileFilter(
    const std::string& directory, const policy::Profile& profile) {
  const std::string seccomp = absl::StrCat(directory, "/seccomp");
  absl::StatusOr<policy::SeccompPolicy> rules = policy::SeccompPolicy::Load(
      seccomp, profile.seccomp, profile.seccomp_add);
  if (!rules.ok() && !profile.seccomp_add.empty()) {
    // The fault may be the choice of additions, and not a file that the message
    // names.
    return absl::Status(
        rules.status().code(),
        absl::StrCat("profile ", profile.name,
                     ": /seccomp_add: ", rules.status().message()));
  }
  if (!rules.ok()) return rules.status();
  absl::StatusOr<policy::BpfProgram> filter = rules->Compile();
  if (!filter.ok()) return filter;
  if (const absl::Status starts = policy::CheckStartsPrograms(*filter);
      !starts.ok()) {
    return absl::Status(starts.code(), absl::StrCat("profile ", profile.name,
                                                    ": ", starts.message()));
  }
  return filter;
}

// The name is made from everything that decides what a jail of the profile is
// like.
std::string TemplateName(const policy::Profile& profile,
                         const policy::Limits& maximum,
                         const policy::BpfProgram& filter) {
  constexpr size_t kDigits = 16;
  Digest digest;
  digest.Add(profile.canonical);
  for (const policy::LimitField& field : policy::kLimitFields) {
    digest.AddNumber(field.get(maximum));
  }
  digest.Add({reinterpret_cast<const char*>(filter.data()),
              filter.size() * sizeof(filter[0])});
  return absl::StrCat(profile.name, "@", digest.Hex().substr(0, kDigits));
}

std::string DigestOf(const std::string& directory,
                     const std::vector<policy::Profile>& profiles) {
  Digest digest;
  for (const policy::Profile& profile : profiles) {
    digest.Add(profile.canonical);
    digest.Add(profile.jail_template);
  }
  // The patterns stand in this file and not in the profiles that name them.
  digest.Add(os::ReadWholeFile(absl::StrCat(directory, "/redaction.json"))
                 .value_or(""));
  return digest.Hex();
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
  if (absl::Status image = CheckImage(languages, profile); !image.ok()) {
    return image;
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
  // The order of the additions makes no difference, so they are sorted.
  std::vector<std::string> additions = profile.seccomp_add;
  std::sort(additions.begin(), additions.end());
  additions.insert(additions.begin(), profile.seccomp);
  return absl::StrJoin(additions, "+");
}

absl::StatusOr<PolicySet> PolicySet::Create(
    policy::LanguageTable languages, std::vector<policy::Profile> profiles) {
  return Make(std::make_shared<policy::LanguageTable>(std::move(languages)),
              std::move(profiles), {}, "");
}

absl::StatusOr<PolicySet> PolicySet::Make(
    SharedLanguages languages, std::vector<policy::Profile> profiles,
    std::vector<sandbox::JailTemplate> templates, std::string digest) {
  PolicySet set;
  for (policy::Profile& profile : profiles) {
    if (absl::Status good = CheckProfile(*languages, profile); !good.ok()) {
      return good;
    }
    if (profile.jail_template.empty()) profile.jail_template = profile.name;
    set.profiles_.push_back(
        std::make_shared<const policy::Profile>(std::move(profile)));
  }
  set.languages_ = std::move(languages);
  set.templates_ = std::move(templates);
  set.digest_ = std::move(digest);
  if (set.FindProfile("") == nullptr) {
    return absl::InvalidArgumentError(
        "there is no profile \"default\", which requests without a profile "
        "run under");
  }
  set.AddToolProfiles();
  return set;
}

void PolicySet::AddToolProfiles() {
  const policy::SharedProfile model = FindProfile("");
  for (const std::string& image : languages_->images()) {
    if (image == policy::kHostImage) continue;
    policy::Profile tools = *model;
    tools.image = image;
    tools.network.reset();
    tools.network_template.clear();
    tools.jail_template = absl::StrCat(model->jail_template, "+image-", image);
    const auto jail = absl::c_find_if(templates_, [&](const auto& each) {
      return each.name == model->jail_template;
    });
    if (jail != templates_.end()) {
      sandbox::JailTemplate own = *jail;
      own.name = tools.jail_template;
      own.image = image;
      templates_.push_back(std::move(own));
    }
    tool_profiles_[image] =
        std::make_shared<const policy::Profile>(std::move(tools));
  }
}

policy::SharedProfile PolicySet::ToolProfile(
    const policy::Language& language) const {
  const auto tools = tool_profiles_.find(language.image);
  return tools == tool_profiles_.end() ? FindProfile("") : tools->second;
}

absl::StatusOr<PolicySet> PolicySet::Load(
    const std::string& directory, const std::vector<policy::Image>& images) {
  absl::StatusOr<policy::LanguageTable> languages =
      policy::LanguageTable::Load(absl::StrCat(directory, "/languages"));
  if (!languages.ok()) return languages.status();
  for (const policy::Image& image : images) languages->AddImage(image);
  return LoadWith(directory, std::make_shared<policy::LanguageTable>(
                                 *std::move(languages)));
}

absl::StatusOr<PolicySet> PolicySet::Reload(const std::string& directory,
                                            const PolicySet& of) {
  absl::StatusOr<PolicySet> set = LoadWith(directory, of.languages_);
  if (!set.ok() || of.tenants_directory_.empty()) return set;
  if (absl::Status loaded = set->LoadTenants(of.tenants_directory_);
      !loaded.ok()) {
    return loaded;
  }
  return set;
}

absl::Status PolicySet::LoadTenants(const std::string& directory) {
  std::set<std::string> names;
  for (const policy::SharedProfile& profile : profiles_) {
    names.insert(profile->name);
  }
  absl::StatusOr<policy::TenantTable> tenants =
      policy::TenantTable::Load(directory, names);
  if (!tenants.ok()) return tenants.status();
  Digest digest;
  digest.Add(digest_);
  digest.Add(tenants->canonical());
  digest_ = digest.Hex();
  tenants_directory_ = directory;
  SetTenants(*std::move(tenants));
  return absl::OkStatus();
}

void PolicySet::SetTenants(policy::TenantTable tenants) {
  tenants_ = std::make_shared<const policy::TenantTable>(std::move(tenants));
}

absl::StatusOr<PolicySet> PolicySet::LoadWith(const std::string& directory,
                                              SharedLanguages languages) {
  absl::StatusOr<policy::RedactionList> redactions =
      policy::RedactionList::Load(absl::StrCat(directory, "/redaction.json"));
  // Profiles that name none of its patterns can do without the file.
  if (absl::IsNotFound(redactions.status())) {
    redactions = policy::RedactionList();
  }
  if (!redactions.ok()) return redactions.status();
  absl::StatusOr<std::vector<policy::Profile>> profiles =
      policy::LoadProfiles(absl::StrCat(directory, "/profiles"), *redactions);
  if (!profiles.ok()) return profiles.status();

  std::vector<sandbox::JailTemplate> templates;
  // Profiles share filters; each is compiled once.
  std::map<std::string, policy::BpfProgram> filters;
  for (policy::Profile& profile : *profiles) {
    const std::string name = FilterName(profile);
    auto filter = filters.find(name);
    if (filter == filters.end()) {
      absl::StatusOr<policy::BpfProgram> program =
          CompileFilter(directory, profile);
      if (!program.ok()) return program.status();
      filter = filters.emplace(name, *std::move(program)).first;
    }
    const policy::Limits highest = HighestLimits(*languages, profile);
    profile.jail_template = TemplateName(profile, highest, filter->second);
    templates.push_back({.name = profile.jail_template,
                         .maximum = highest,
                         .disk = profile.disk_io,
                         .image = profile.image,
                         .seccomp = filter->second,
                         .network = nullptr});
    if (profile.network == nullptr) continue;
    profile.network_template = profile.jail_template + kWithNetwork;
    templates.push_back(templates.back());
    templates.back().name = profile.network_template;
    templates.back().network = profile.network;
  }
  std::string digest = DigestOf(directory, *profiles);
  return Make(std::move(languages), *std::move(profiles), std::move(templates),
              std::move(digest));
}

bool PolicySet::AsksForApproval(const policy::Profile& profile) {
  return absl::c_any_of(profile.rules, [](const policy::Rule& rule) {
    return rule.severity == policy::Severity::kRequireApproval;
  });
}

bool PolicySet::asks_for_approval() const {
  return absl::c_any_of(profiles_, [](const policy::SharedProfile& profile) {
    return AsksForApproval(*profile);
  });
}

policy::SharedProfile PolicySet::FindProfile(const std::string& name) const {
  const std::string wanted = name.empty() ? kDefaultProfile : name;
  const auto it = absl::c_find_if(
      profiles_,
      [&](const policy::SharedProfile& p) { return p->name == wanted; });
  return it == profiles_.end() ? nullptr : *it;
}

policy::SharedProfile PolicySet::FindByTemplate(const std::string& name) const {
  const auto it =
      absl::c_find_if(profiles_, [&](const policy::SharedProfile& p) {
        return p->jail_template == name || p->network_template == name;
      });
  if (it != profiles_.end()) return *it;
  for (const auto& [image, tools] : tool_profiles_) {
    if (tools->jail_template == name) return tools;
  }
  return nullptr;
}

}  // namespace sandglass::server
