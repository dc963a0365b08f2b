#ifndef SANDGLASS_POLICY_PROFILE_PROFILE_H_
#define SANDGLASS_POLICY_PROFILE_PROFILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/language/image.h"
#include "policy/limits/disk_cap.h"
#include "policy/limits/limit_floors.h"
#include "policy/limits/limit_request.h"
#include "policy/limits/limits.h"
#include "policy/redaction/redaction_profile.h"
#include "policy/rules/rules_profile.h"

namespace sandglass::policy {

struct LibraryPolicy;
struct NetworkPolicy;

// Who may reuse what the compilers of a profile's runs have made.
enum class CompileSharing {
  kOff,     // nobody: each run is compiled
  kOwn,     // runs of the same profile
  kShared,  // runs of all profiles that share
};

// "off", "own" or "shared".
std::string_view CompileSharingName(CompileSharing sharing);

// Where the files of a profile's sessions are kept.
enum class SessionFiles {
  kMemory,   // gone with the daemon
  kDurable,  // a copy on disk survives the daemon's restart
};

// "memory" or "durable".
std::string_view SessionFilesName(SessionFiles files);

// Whether sessions of a profile may run commands, whose programs no rule
// examines.
enum class SessionCommands {
  kAllow,
  kDeny,
};

// "allow" or "deny".
std::string_view SessionCommandsName(SessionCommands commands);

// A named set of rules under which a request runs. Each is one JSON file (with
// comments) in policy/data/profiles/.
struct Profile {
  std::string name;  // file name without ".json"
  std::string description;
  Limits limits;   // what a request gets that asks for nothing
  Limits maximum;  // the most that a request may ask for
  std::vector<std::string> languages;  // ids; empty: all
  std::vector<std::pair<std::string, std::string>> env;
  std::string seccomp = "default";       // name of a syscall policy
  std::vector<std::string> seccomp_add;  // names of additions to it
  CompileSharing compile_cache = CompileSharing::kOwn;
  SessionFiles session_files = SessionFiles::kMemory;
  DiskCap disk_io;
  std::string image = std::string(kHostImage);  // of its jails
  // What its programs may connect to; null: nothing but their own `lo`.
  std::shared_ptr<const NetworkPolicy> network;
  // The libraries that its requests may name; null: none.
  std::shared_ptr<const LibraryPolicy> libraries;
  std::vector<Rule> rules;  // examine a program's text before it runs
  ApprovalPolicy approval;
  // If the file doesn't say: denied if a rule asks or denies, because a command
  // could circumvent that rule.
  SessionCommands commands = SessionCommands::kAllow;
  // The file's content in one form, without comments: two profiles are the same
  // if this is the same.
  std::string canonical;
  std::shared_ptr<const Redactor> redactor;  // of output; null: none
  // The name of the template for its jails, set by the code that makes
  // templates. Empty: it has none of its own.
  std::string jail_template;
  // The template for the jails in which its programs run, if it differs: only
  // those have the network, which compilers and analysers don't get. Empty: it
  // doesn't differ.
  std::string network_template;

  const std::string& run_template() const {
    return network_template.empty() ? jail_template : network_template;
  }
};

// Whether runs in this language may name the profile.
bool AllowsLanguage(const Profile& profile, std::string_view language);

// Whatever runs under a profile keeps this version of it, even if another is in
// force by then.
using SharedProfile = std::shared_ptr<const Profile>;

// The profile, with its defaults and its maximum raised to at least `floors`.
Profile RaisedTo(const LimitFloors& floors, const Profile& profile);

// Loads profiles. Every default and maximum is checked (see CheckLimits), and
// no default may be above its maximum. `redactions` are the patterns that they
// can name.
absl::StatusOr<std::vector<Profile>> LoadProfiles(
    const std::string& directory, const RedactionList& redactions = {});

// The same for the text of one profile's file. Errors name it `name`.json.
absl::StatusOr<Profile> ParseProfile(const std::string& name,
                                     std::string_view text,
                                     const RedactionList& redactions = {});

// Finds values that can't work: a limit of zero or one that is too small, or
// disk limits that together exceed half of the memory (tmpfs is memory). Each
// message names the field under `prefix` ("limits" or "/limits").
std::vector<FieldViolation> CheckLimits(const Limits& limits,
                                        std::string_view prefix);

// Applies a request to a profile. A value above the profile's maximum, or one
// that can't work, is added to `violations`; the result is then meaningless.
// When the request lowers the memory only, disk limits that it didn't name
// shrink, so that they stay within half of the memory.
// Messages name the fields under `prefix`.
Limits ApplyRequest(const Profile& profile, const LimitRequest& request,
                    std::vector<FieldViolation>& violations,
                    std::string_view prefix = "limits");

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_PROFILE_PROFILE_H_
