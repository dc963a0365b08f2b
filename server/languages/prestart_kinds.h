#ifndef SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_
#define SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/language/language.h"
#include "policy/verdict/verdict.h"
#include "sandbox/yard/sandbox.h"
#include "server/live_policy/live_policy.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// The kinds of jails in which an interpreter waits that was started before its
// program is known: one per phase, for languages that have such interpreters.
class PrestartKinds {
 public:
  // `policy` must outlive this object.
  explicit PrestartKinds(const LivePolicy& policy);

  bool Has(const std::string& kind) const { return kinds_.contains(kind); }
  // The interpreter that is started in a jail of this key. NOT_FOUND: its
  // profile has been replaced. Precondition: Has(key.kind).
  absl::StatusOr<sandbox::ProgramSpec> InterpreterOf(const JailKey& key) const;
  // How the pool keeps jails of these kinds, by the kind's name.
  std::map<std::string, KindOptions> Options() const;
  // Keys under the default profile that is in force, and its limits. FromStart
  // returns those of one language that are to be kept once it is usable,
  // OnceUsed those of all languages that are to be kept once they were used.
  // Analysers are included only if that profile has rules for them.
  std::vector<JailKey> FromStart(const policy::Language& language) const;
  std::vector<JailKey> OnceUsed() const;

 private:
  struct Kind {
    const policy::Language* language;
    policy::Phase phase;
    const policy::PrestartRecipe* recipe;
  };
  // The keys of the kinds that are wanted.
  std::vector<JailKey> DefaultKeys(
      const std::function<bool(const Kind&)>& wanted) const;

  const LivePolicy& policy_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_
