#ifndef SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_
#define SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "policy/tenant/tenant.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::server {

// The policy by which the daemon works: the languages, which are read once,
// when it starts, and the profiles with their jail templates. A profile named
// "default" is always there. A set doesn't change once it is shared: see
// LivePolicy.
class PolicySet {
 public:
  // Reads `directory`/{languages,profiles,seccomp,redaction.json}. Errors name
  // the file and the JSON pointer. Profiles may name `images` besides the
  // host's.
  static absl::StatusOr<PolicySet> Load(
      const std::string& directory,
      const std::vector<policy::Image>& images = {});
  // Reads the directory like Load, but takes the languages and images from
  // `of`, whatever languages the directory has now.
  static absl::StatusOr<PolicySet> Reload(const std::string& directory,
                                          const PolicySet& of);
  // Reads the files of tenants, too; Reload does so again. Only to be used
  // before the set is shared.
  absl::Status LoadTenants(const std::string& directory);
  // The same without files.
  void SetTenants(policy::TenantTable tenants);

  // INVALID_ARGUMENT when there is no profile "default", when a profile names a
  // language or an image that does not exist or has rules that can't match
  // anybody in its image, or when a language raises a profile's limits to
  // values that can't work.
  static absl::StatusOr<PolicySet> Create(
      policy::LanguageTable languages, std::vector<policy::Profile> profiles);

  // Checks whether a profile goes with the languages. Create requires it of
  // each profile.
  static absl::Status CheckProfile(const policy::LanguageTable& languages,
                                   const policy::Profile& profile);

  // This set and all that are reloaded from it share one table.
  const policy::LanguageTable& languages() const { return *languages_; }
  // Only to be used before the set is shared.
  policy::LanguageTable& mutable_languages() { return *languages_; }
  const std::vector<policy::SharedProfile>& profiles() const {
    return profiles_;
  }
  // "" means "default". Returns nullptr when there is no profile of that name.
  policy::SharedProfile FindProfile(const std::string& name) const;
  // Finds a profile by the name of one of its jail templates.
  policy::SharedProfile FindByTemplate(const std::string& name) const;

  // Never null.
  const std::shared_ptr<const policy::TenantTable>& tenants() const {
    return tenants_;
  }

  // A SHA-256, in hexadecimal, of everything that was read except the
  // languages; empty after Create.
  const std::string& digest() const { return digest_; }

  // The default profile in the language's image. It is used for the language's
  // own tools, about which no profile decides.
  policy::SharedProfile ToolProfile(const policy::Language& language) const;

  // Whether the profile, or some profile of this set, has a rule that may ask a
  // person to approve a run.
  static bool AsksForApproval(const policy::Profile& profile);
  bool asks_for_approval() const;

  // A text that stands for a profile's system call filter: the name of its
  // seccomp policy, then "+" and the name of each addition, in order. Profiles
  // with equal names have equal filters.
  static std::string FilterName(const policy::Profile& profile);

  // There is one template per profile, another one for the profile's programs
  // where it has a network, and one for the tools of each image. Each has its
  // system call filter compiled. Its maximum is that of the language that needs
  // most. A template is named after the profile, followed by "@" and a digest
  // of everything that decides what the profile's jails are like, so that equal
  // names mean equal jails.
  const std::vector<sandbox::JailTemplate>& templates() const {
    return templates_;
  }

 private:
  using SharedLanguages = std::shared_ptr<policy::LanguageTable>;

  static absl::StatusOr<PolicySet> Make(
      SharedLanguages languages, std::vector<policy::Profile> profiles,
      std::vector<sandbox::JailTemplate> templates, std::string digest);
  void AddToolProfiles();
  static absl::StatusOr<PolicySet> LoadWith(const std::string& directory,
                                            SharedLanguages languages);

  SharedLanguages languages_;
  std::vector<policy::SharedProfile> profiles_;
  // Keyed by image, without the host's.
  std::map<std::string, policy::SharedProfile> tool_profiles_;
  std::vector<sandbox::JailTemplate> templates_;  // empty after Create
  std::string digest_;
  std::string tenants_directory_;  // empty: no files
  std::shared_ptr<const policy::TenantTable> tenants_ =
      std::make_shared<const policy::TenantTable>();
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_
