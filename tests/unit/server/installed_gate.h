// Lets run what is installed, under any profile.
#ifndef SANDGLASS_TESTS_UNIT_SERVER_INSTALLED_GATE_H_
#define SANDGLASS_TESTS_UNIT_SERVER_INSTALLED_GATE_H_

#include "absl/status/status.h"
#include "server/job/language_gate.h"
#include "server/languages/languages.h"

namespace sandglass::server {

class InstalledGate final : public LanguageGate {
 public:
  absl::Status MayRunBy(const policy::Profile&) const override {
    return absl::OkStatus();
  }
  absl::Status Available(const policy::Language& language,
                         const policy::Profile&) const override {
    return CheckInstalled(language);
  }
  absl::Status Prepared(const policy::Language&) const override {
    return absl::OkStatus();
  }
};
inline const InstalledGate kInstalled;

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_INSTALLED_GATE_H_
