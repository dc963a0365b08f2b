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

// Who gets what the compilers of a profile's runs made.
enum class CompileSharing {
  kOff,     // nobody: each run is compiled
  kOwn,     // runs of the same profile
  kShared,  // runs of all profiles that share
};

// "off", "own" or "shared".
std::string_view CompileSharingName(CompileSharing sharing);

// Where the files of a profile's sessions are.
enum class SessionFiles {
  kMemory,   // gone with the daemon
  kDurable,  // a copy on the daemon's disk brings them back after a restart
};

// "memory" or "durable".
std::string_view SessionFilesName(SessionFiles files);

// What becomes of commands in a profile's sessions, whose programs no rule
// looks at.
enum class SessionCommands {
  kAllow,
  kDeny,
};

// "allow" or "deny".
std::string_view SessionCommandsName(SessionCommands commands);

// A named set of rules that a request runs under; one JSON file (with
// comments) under policy/data/profiles/.
struct Profile {
  std::string name;  // file name without ".json"
  std::string description;
  Limits limits;   // what a request that asks for nothing gets
  Limits maximum;  // what a request may ask for at most
  std::vector<std::string> languages;  // empty: all
  std::vector<std::pair<std::string, std::string>> env;
  std::string seccomp = "default";       // name of a syscall policy
  std::vector<std::string> seccomp_add;  // names of additions to it
  CompileSharing compile_cache = CompileSharing::kOwn;
  SessionFiles session_files = SessionFiles::kMemory;
  DiskCap disk_io;
  std::string image = std::string(kHostImage);  // that its jails have
  // What its programs may reach; null: nothing but their own `lo`.
  std::shared_ptr<const NetworkPolicy> network;
  // The libraries that its requests may name; null: none.
  std::shared_ptr<const LibraryPolicy> libraries;
  std::vector<Rule> rules;  // for a program's text, before it runs
  ApprovalPolicy approval;
  // Where the file doesn't say: denied if a rule asks or denies, since a
  // command would get around it.
  SessionCommands commands = SessionCommands::kAllow;
  // The file's content, without comments and in one form: it is the same
  // profile when this is the same.
  std::string canonical;
  std::shared_ptr<const Redactor> redactor;  // of output; null: none
  // The name of what its jails are made by; set by whoever makes them. Empty:
  // it has none of its own.
  std::string jail_template;
  // The same for jails in which its programs run, where they differ: they have
  // the network, which compilers and analysers don't get. Empty: they don't
  // differ.
  std::string network_template;

  const std::string& run_template() const {
    return network_template.empty() ? jail_template : network_template;
  }
};

// Whether runs of the language of this id may name the profile.
bool AllowsLanguage(const Profile& profile, std::string_view language);

// What is at work by a profile keeps it, whatever is in force by then.
using SharedProfile = std::shared_ptr<const Profile>;

// The profile with its defaults and its maximum raised to what is at least
// needed.
Profile RaisedTo(const LimitFloors& floors, const Profile& profile);

// Loads profiles; every default and maximum is checked (see CheckLimits), no
// default is above its maximum. `redactions` are the patterns they can name.
absl::StatusOr<std::vector<Profile>> LoadProfiles(
    const std::string& directory, const RedactionList& redactions = {});

// The same for the text of one profile's file. Errors name it `name`.json.
absl::StatusOr<Profile> ParseProfile(const std::string& name,
                                     std::string_view text,
                                     const RedactionList& redactions = {});

// Refuses values that can't work: a zero or tiny limit, or disk caps that
// together exceed half the memory (tmpfs is memory). Each message names the
// field under `prefix` ("limits" or "/limits").
std::vector<FieldViolation> CheckLimits(const Limits& limits,
                                        std::string_view prefix);

// Applies a request to a profile. A wish above the profile's maximum, or one
// that can't work, is a violation; the result is then meaningless. When the
// request tightens memory only, disk caps that it did not name shrink to keep
// to half the memory.
// Messages name the fields under `prefix`.
Limits ApplyRequest(const Profile& profile, const LimitRequest& request,
                    std::vector<FieldViolation>& violations,
                    std::string_view prefix = "limits");

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_PROFILE_PROFILE_H_
