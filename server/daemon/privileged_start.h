#ifndef SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_
#define SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "sandbox/yard/egress_port.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/template_ledger.h"
#include "server/daemon/config.h"
#include "server/daemon/daemon_start.h"
#include "server/daemon/heartbeat.h"
#include "server/daemon/kept_listeners.h"
#include "server/daemon/resolved_config.h"

namespace sandglass::server {

// What the daemon does while it still has its rights, in steps that are called
// in this order. A step returns the exit status when the daemon can't start,
// having logged why.
class PrivilegedStart {
 public:
  explicit PrivilegedStart(ResolvedConfig settings)
      : parts_{.settings = std::move(settings)} {}
  PrivilegedStart(const PrivilegedStart&) = delete;
  PrivilegedStart& operator=(const PrivilegedStart&) = delete;

  // The state directory and the uids are this daemon's for as long as this
  // object lives.
  std::optional<int> AcquirePlaces(KeptListeners& listeners);
  std::optional<int> LookAtHost();
  void OpenStores();
  // What jails will be made from: templates, zygotes, and secrets for them.
  std::optional<int> PlanJails();
  // The spawners, the egress proxy, the policy reader and the unpacker.
  std::optional<int> StartHelpers();
  std::optional<int> OpenKeptPlaces();
  std::optional<int> BindTls();
  std::optional<int> BindSocket();
  std::optional<int> DropRights(Heartbeat* supervisor, pid_t parent);
  // Call it once, when all steps went well.
  ServingParts Parts(Heartbeat* supervisor, KeptListeners& listeners);

 private:
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> StartSandbox();
  absl::Status StartHelperProcesses();

  // These are given up last: until the spawners have ended, nobody else may
  // have the state directory and the uids.
  os::Fd lock_;
  os::Fd ids_;
  ServingParts parts_;
  ResolvedConfig& settings_ = parts_.settings;
  const Config& config_ = settings_.config;
  std::optional<sandbox::TemplateLedger> ledger_;
  os::Fd spawners_end_;  // of the ledger
  sandbox::EgressOptions egress_;
  std::vector<sandbox::JailTemplate> templates_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_
