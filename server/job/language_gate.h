#ifndef SANDGLASS_SERVER_JOB_LANGUAGE_GATE_H_
#define SANDGLASS_SERVER_JOB_LANGUAGE_GATE_H_

#include "absl/status/status.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"

namespace sandglass::server {

// Says what programs can be run now. Errors are for callers as they are.
// Thread-safe.
class LanguageGate {
 public:
  virtual ~LanguageGate() = default;

  // Whether anything can be run under the profile. That may be one which has
  // been replaced, by which a session goes on.
  virtual absl::Status MayRunBy(const policy::Profile& profile) const = 0;
  // Whether programs in the language can, under such a profile.
  virtual absl::Status Available(const policy::Language& language,
                                 const policy::Profile& profile) const = 0;
  // Whether what is prepared for the language, its analyser among it, is there.
  virtual absl::Status Prepared(const policy::Language& language) const = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_LANGUAGE_GATE_H_
