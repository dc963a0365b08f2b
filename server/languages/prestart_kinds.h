#ifndef SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_
#define SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_

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

// The kinds of jails in which an interpreter waits that was started ahead of
// its program, one per phase of a language that has such.
class PrestartKinds {
 public:
  // `policy` outlives it.
  explicit PrestartKinds(const LivePolicy& policy);

  bool Has(const std::string& kind) const { return kinds_.contains(kind); }
  // What is started in a jail of this key. NOT_FOUND: its profile has been
  // replaced. Precondition: Has(key.kind).
  absl::StatusOr<sandbox::ProgramSpec> InterpreterOf(const JailKey& key) const;
  // How the pool keeps them; nullopt for other kinds.
  std::optional<KindOptions> OptionsOf(const std::string& kind) const;
  // Under the default profile, as it is in force, and its limits: of one
  // language those to keep once it is usable, and of all languages those to
  // keep once they were used. An analyser only where that profile has rules
  // for it.
  std::vector<JailKey> FromStart(const policy::Language& language) const;
  std::vector<JailKey> OnceUsed() const;

 private:
  struct Kind {
    const policy::Language* language;
    policy::Phase phase;
    const policy::PrestartRecipe* recipe;
  };
  void AddDefaultKey(const std::string& name, const Kind& kind,
                     std::vector<JailKey>& keys) const;

  const LivePolicy& policy_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_PRESTART_KINDS_H_
