#ifndef SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_
#define SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::server {

// What the daemon runs by: languages, which are read once, at its start, and
// profiles with their jail templates. A profile named "default" is always
// there. Doesn't change once it is shared: see LivePolicy.
class PolicySet {
 public:
  // Reads `directory`/{languages,profiles,seccomp,redaction.json}. Errors name
  // file and JSON pointer.
  // Profiles may name these images beside the host's.
  static absl::StatusOr<PolicySet> Load(
      const std::string& directory,
      const std::vector<policy::Image>& images = {});
  // The same with the languages and images of `of`, whatever the directory has
  // of the former.
  static absl::StatusOr<PolicySet> Reload(const std::string& directory,
                                          const PolicySet& of);
  // INVALID_ARGUMENT when there is no profile "default", when a profile names
  // a language or an image that does not exist, has rules that nobody can match
  // in its image, or when a language raises a profile's limits to what can't
  // work.
  static absl::StatusOr<PolicySet> Create(
      policy::LanguageTable languages, std::vector<policy::Profile> profiles);

  // Whether a profile goes with the languages: what Create asks of each.
  static absl::Status CheckProfile(const policy::LanguageTable& languages,
                                   const policy::Profile& profile);

  // One table for this set and all that are reloaded from it.
  const policy::LanguageTable& languages() const { return *languages_; }
  // Before the set is shared.
  policy::LanguageTable& mutable_languages() { return *languages_; }
  const std::vector<policy::SharedProfile>& profiles() const {
    return profiles_;
  }
  // "" means "default"; nullptr when there is none of that name.
  policy::SharedProfile FindProfile(const std::string& name) const;
  // By the name of its jail template.
  policy::SharedProfile FindByTemplate(const std::string& name) const;

  // SHA-256, in hexadecimal, of all that was read but the languages; empty
  // after Create.
  const std::string& digest() const { return digest_; }

  // The default one in the language's image: for the language's own tools,
  // which no profile decides about.
  policy::SharedProfile ToolProfile(const policy::Language& language) const;

  // Whether a rule of any profile may want a person to approve a run.
  bool asks_for_approval() const;

  // What stands for a profile's system call filter: the policy's name, then
  // "+" and the name of each addition in order. Profiles with equal names have
  // equal filters.
  static std::string FilterName(const policy::Profile& profile);

  // One template per profile, and another one for its programs where it has a
  // network, and one for the tools of each image; its system call filter
  // compiled; its maximum is
  // that of the language that needs most. Named after the profile, "@" and a
  // digest of all that jails of the profile are made by, so that equal names
  // mean equal jails.
  const std::vector<sandbox::JailTemplate>& templates() const {
    return templates_;
  }

 private:
  using SharedLanguages = std::shared_ptr<policy::LanguageTable>;

  static absl::StatusOr<PolicySet> Make(
      SharedLanguages languages, std::vector<policy::Profile> profiles,
      std::vector<sandbox::JailTemplate> templates);
  void AddToolProfiles();
  static absl::StatusOr<PolicySet> LoadWith(const std::string& directory,
                                            SharedLanguages languages);

  // The most that any run under the profile may have, whatever its language.
  static policy::Limits HighestLimits(const policy::LanguageTable& languages,
                                      const policy::Profile& profile);

  SharedLanguages languages_;
  std::vector<policy::SharedProfile> profiles_;
  // By image, without the host's.
  std::map<std::string, policy::SharedProfile> tool_profiles_;
  std::vector<sandbox::JailTemplate> templates_;  // empty after Create
  std::string digest_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIVE_POLICY_POLICY_SET_H_
