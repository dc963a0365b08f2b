#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sandbox/host/host_probe.h"
#include "server/base/certificate_file.h"
#include "server/base/memory_budget.h"
#include "server/base/strings.h"
#include "server/daemon/config.h"
#include "server/daemon/config_doubts.h"
#include "server/daemon/daemon.h"
#include "server/daemon/descriptor_budget.h"
#include "server/daemon/egress_start.h"
#include "server/daemon/preflight_helpers.h"
#include "server/daemon/preflight_places.h"
#include "server/daemon/resolved_config.h"
#include "server/daemon/supervisor.h"
#include "server/daemon/uid_range.h"
#include "server/live_policy/secret_files.h"

namespace sandglass::server {
namespace {

int Refuse(const absl::Status& status) {
  std::fflush(stdout);
  absl::FPrintF(stderr, "%s\n",
                std::string(WithPage(status, kStartPage).message()));
  return kExitBadConfig;
}

// Checks what the configuration names besides places: programs, secrets,
// certificates.
std::vector<absl::Status> CheckFiles(const ResolvedConfig& settings) {
  const Config& config = settings.config;
  std::vector<absl::Status> found = CheckHelpers(config);
  const absl::StatusOr<sandbox::EgressOptions> egress =
      MakeEgressOptions(config.egress);
  found.push_back(egress.ok()
                      ? CheckSecrets(settings.policy, SecretNames(*egress))
                      : egress.status());
  if (!config.libraries.dir.empty()) {
    found.push_back(
        ReadCertificates("libraries.ca_file", config.libraries.ca_file)
            .status());
  }
  return found;
}

}  // namespace

int CheckDaemon(const ConfigFlags& flags) {
  const absl::StatusOr<ResolvedConfig> settings = LoadResolvedConfig(flags);
  if (!settings.ok()) return Refuse(settings.status());
  absl::PrintF("%s\n", ConfigToJson(settings->config));
  if (absl::Status root = RequireRoot(); !root.ok()) {
    return Refuse(absl::FailedPreconditionError(
        absl::StrCat("the host was not probed: ", root.message())));
  }
  sandbox::HostReport host = sandbox::ProbeHost(DiskPlaces(settings->config));
  const absl::Status layers =
      sandbox::RequireLayers(host, settings->config.excuse_missing);
  absl::PrintF("\nkernel %s\n%-24s %-14s %-9s %s\n", host.kernel, "layer",
               "state", "required", "detail");
  for (const sandbox::Layer& layer : host.layers) {
    const char* state =
        layer.state == sandbox::LayerState::kInForce   ? "in force"
        : layer.state == sandbox::LayerState::kExcused ? "excused"
                                                       : "not available";
    absl::PrintF("%-24s %-14s %-9s %s\n", layer.name, state,
                 layer.required ? "yes" : "no", layer.detail);
  }
  const DescriptorNeeds needs =
      FindDescriptorNeeds(settings->config, HardDescriptorLimit());
  absl::PrintF("\n%s\n", DescribeDescriptorNeeds(needs));
  const std::string few = WhyTooFewDescriptors(settings->config, needs);
  if (!few.empty()) absl::PrintF("warning: %s\n", few);
  if (!layers.ok()) return Refuse(layers);
  if (absl::Status traceable = CheckTracing(*settings); !traceable.ok()) {
    return Refuse(traceable);
  }
  std::vector<std::string> wrong =
      CheckPlaces(settings->config, settings->identity.uid);
  if (!IsInUse(settings->config.state_dir)) {
    const absl::Status free = CheckUidRange(settings->ids);
    if (!free.ok()) wrong.emplace_back(free.message());
  }
  for (const absl::Status& status : CheckFiles(*settings)) {
    if (!status.ok()) wrong.emplace_back(status.message());
  }
  const std::string small = WhyNoneFits(settings->config, settings->policy);
  if (!small.empty()) wrong.push_back(small);
  for (const std::string& what : wrong) {
    Refuse(absl::FailedPreconditionError(what));
  }
  if (!wrong.empty()) return kExitBadConfig;
  const std::vector<std::string> doubts =
      ConfigDoubts(settings->config, MachineMemory());
  for (const std::string& doubt : doubts) {
    absl::PrintF("\nwarning: %s\n", doubt);
  }
  absl::PrintF("\n%s\n",
               doubts.empty()
                   ? "All is well: sandglassd could start so."
                   : "sandglassd could start so, but see the warnings above.");
  return 0;
}

}  // namespace sandglass::server
