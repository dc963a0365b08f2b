#ifndef SANDGLASS_SERVER_DAEMON_RUN_GATE_H_
#define SANDGLASS_SERVER_DAEMON_RUN_GATE_H_

#include <optional>

#include "absl/status/status.h"
#include "server/job/language_gate.h"
#include "server/languages/languages.h"
#include "server/ops/operations.h"
#include "server/ops/readiness.h"

namespace sandglass::server {

// An error while a program was seen to get out of its jail.
absl::Status JailsHold(const Readiness& readiness);

// Lets programs run in languages that work here, while jails hold.
class RunGate final : public LanguageGate {
 public:
  // Both outlive it. `languages` may be made after it, before it is asked.
  RunGate(const Operations& operations,
          const std::optional<LanguageProbe>& languages)
      : operations_(operations), languages_(languages) {}

  // An error while a program was seen to get out of its jail.
  absl::Status MayRunBy(const policy::Profile& profile) const override;
  absl::Status Available(const policy::Language& language,
                         const policy::Profile& profile) const override;
  absl::Status Prepared(const policy::Language& language) const override;

 private:
  const Operations& operations_;
  const std::optional<LanguageProbe>& languages_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_RUN_GATE_H_
