#ifndef SANDGLASS_SERVER_OPS_ISOLATION_CANARY_H_
#define SANDGLASS_SERVER_OPS_ISOLATION_CANARY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "policy/language/language.h"
#include "server/base/cancel_token.h"
#include "server/job/job_runner.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// A program that looks around in a jail and tries what no program may do. The
// checks at the start only show which of the host's layers could be set up;
// this shows what a program really meets. It is a script for /bin/sh, run in
// images that have one.
//
// It is tried in a jail of each template of the profiles. For each language
// whose canary has a `shell`, it is tried once more like a program that is run
// by an interpreter which has already started.
class IsolationCanary {
 public:
  struct Found {
    // OK: it could be tried in at least one jail, and every jail in which it
    // was tried held. (A filter under which no shell works lets nobody out.)
    // FAILED_PRECONDITION: something that must not be possible was possible, in
    // the second try as well; says what, and where. A jail from which the
    // program escaped counts as broken until it has held or left the policy.
    // Other codes: it could not be tried anywhere, which says nothing about the
    // jails.
    absl::Status status;
    size_t held = 0;       // kinds of jails
    size_t not_tried = 0;  // kinds that could not be tried
    std::string why;       // why one of these could not be
  };
  // Called as soon as an escape is known, and not only when all jails were
  // tried.
  using EscapeFunction = std::function<void(const absl::Status& escaped)>;

  // Whether programs of a language can be run. UNAVAILABLE: not yet. Other
  // errors: not at all, so that nothing needs to be tried with it.
  using UsableFunction = std::function<absl::Status(const policy::Language&)>;

  // Tries all jails, one after another, on the calling thread; each takes at
  // most 20 s.
  Found Check(const PolicySet& policy, const UsableFunction& usable,
              JobRunner& runner, CancelToken& cancel,
              const EscapeFunction& on_escape);

  // The jail templates from which the program escaped and that have not held
  // since. Templates that left the policy stay in the set: sessions live on in
  // their jails, and nobody tries these any more.
  std::set<std::string> EscapedTemplates() const;

 private:
  struct Escape {
    std::string jail_template;
    std::string what;
  };
  // Returns an error when some template of this policy was escaped from.
  absl::Status Escapes(const PolicySet& policy) const;

  std::map<std::string, Escape> escaped_;  // by the kind of jail
};

// Judges what the script printed: OK, FAILED_PRECONDITION as above, or UNKNOWN
// when the script didn't come to its end.
absl::Status JudgeIsolation(std::string_view output);

// The script.
extern const char kIsolationScript[];

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_ISOLATION_CANARY_H_
