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

// A program that looks around in a jail and tries what no program may: what the
// start found of the host's layers is what it could set up, this is what a
// program meets. It is a script for /bin/sh, in an image that has it.
//
// It is tried in a jail of each template of the profiles, and once more as what
// programs are that an interpreter runs which had started already: of each
// language whose canary has a `shell`.
class IsolationCanary {
 public:
  struct Found {
    // OK: every jail held in which it could be tried, and there was one; a
    // filter that lets no shell work lets nobody out. FAILED_PRECONDITION:
    // something that must not be possible was, in the second try, too; says
    // what, and where. What was escaped from stays so until it held or left the
    // policy. Other codes: it could nowhere be tried, which says nothing of the
    // jails.
    absl::Status status;
    size_t held = 0;       // kinds of jails
    size_t not_tried = 0;  // those that could not be
    std::string why;       // of one of these
  };
  // Hears of an escape as soon as it is known, and not only when all are tried.
  using EscapeFunction = std::function<void(const absl::Status& escaped)>;

  // Whether programs of a language can be run. UNAVAILABLE: not yet. Other
  // errors: not at all, so that nothing of it needs to be tried.
  using UsableFunction = std::function<absl::Status(const policy::Language&)>;

  // Runs all, one after another, on the calling thread; each for 20 s at most.
  Found Check(const PolicySet& policy, const UsableFunction& usable,
              JobRunner& runner, CancelToken& cancel,
              const EscapeFunction& on_escape);

  // Jail templates that were escaped from and haven't held since. Those that
  // left the policy stay: sessions live on in jails of them, and nobody tries
  // them any more.
  std::set<std::string> EscapedTemplates() const;

 private:
  struct Escape {
    std::string jail_template;
    std::string what;
  };
  // Of the templates of this policy.
  absl::Status Escapes(const PolicySet& policy) const;

  std::map<std::string, Escape> escaped_;  // by the kind of jail
};

// What the script printed: OK, FAILED_PRECONDITION as above, UNKNOWN when it
// didn't come to its end.
absl::Status JudgeIsolation(std::string_view output);

// The script.
extern const char kIsolationScript[];

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_ISOLATION_CANARY_H_
