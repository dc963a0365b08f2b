#ifndef SANDGLASS_SERVER_POLICY_SET_H_
#define SANDGLASS_SERVER_POLICY_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language.h"
#include "policy/profile.h"
#include "sandbox/sandbox.h"

namespace sandglass::server {

// What the daemon runs by: languages, profiles and their jail templates, read
// once at start. A profile named "default" is always there.
class PolicySet {
 public:
  // Reads `directory`/{languages,profiles,seccomp,redaction.json}. Errors name
  // file and JSON pointer.
  static absl::StatusOr<PolicySet> Load(const std::string& directory);
  // INVALID_ARGUMENT when there is no profile "default", when a profile names
  // a language that does not exist, or when a language raises a profile's
  // limits to what can't work.
  static absl::StatusOr<PolicySet> Create(
      policy::LanguageTable languages, std::vector<policy::Profile> profiles);

  // Whether a profile goes with the languages: what Create asks of each.
  static absl::Status CheckProfile(const policy::LanguageTable& languages,
                                   const policy::Profile& profile);

  const policy::LanguageTable& languages() const { return languages_; }
  // Before the set is shared.
  policy::LanguageTable& mutable_languages() { return languages_; }
  const std::vector<policy::Profile>& profiles() const { return profiles_; }
  // "" means "default"; nullptr when there is none of that name.
  const policy::Profile* FindProfile(const std::string& name) const;

  // Whether a rule of any profile may want a person to approve a run.
  bool asks_for_approval() const;

  // What stands for a profile's system call filter: the policy's name, then
  // "+" and the name of each addition in order. Profiles with equal names have
  // equal filters.
  static std::string FilterName(const policy::Profile& profile);

  // One template per profile, its system call filter compiled; its maximum is
  // that of the language that needs most.
  const std::vector<sandbox::JailTemplate>& templates() const {
    return templates_;
  }

 private:
  PolicySet(policy::LanguageTable languages,
            std::vector<policy::Profile> profiles)
      : languages_(std::move(languages)), profiles_(std::move(profiles)) {}

  // The most that any run under the profile may have, whatever its language.
  policy::Limits HighestLimits(const policy::Profile& profile) const;

  policy::LanguageTable languages_;
  std::vector<policy::Profile> profiles_;
  std::vector<sandbox::JailTemplate> templates_;  // empty after Create
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_POLICY_SET_H_
