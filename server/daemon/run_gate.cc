#include "server/daemon/run_gate.h"

#include "server/base/errors.h"

namespace sandglass::server {

absl::Status JailsHold(const Readiness& readiness) {
  const absl::Status held = readiness.Get(ReadyWhen::kIsolation);
  return absl::IsFailedPrecondition(held) ? IsolationBroken()
                                          : absl::OkStatus();
}

absl::Status RunGate::MayRunBy(const policy::Profile& profile) const {
  if (absl::Status hold = JailsHold(operations_.readiness()); !hold.ok()) {
    return hold;
  }
  return operations_.watch().EscapedFrom(profile)
             ? JailsOfProfileEscaped(profile.name)
             : absl::OkStatus();
}

absl::Status RunGate::Available(const policy::Language& language,
                                const policy::Profile& profile) const {
  if (absl::Status may = MayRunBy(profile); !may.ok()) return may;
  return languages_->Available(language, profile);
}

absl::Status RunGate::Prepared(const policy::Language& language) const {
  return languages_->Prepared(language);
}

}  // namespace sandglass::server
