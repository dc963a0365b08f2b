#ifndef SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_
#define SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/os/fd.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/template_ledger.h"
#include "server/daemon/config.h"
#include "server/daemon/daemon_start.h"
#include "server/daemon/egress_start.h"
#include "server/daemon/heartbeat.h"
#include "server/daemon/library_setup.h"
#include "server/daemon/resolved_config.h"
#include "server/images/image_files.h"
#include "server/languages/prepared_store.h"
#include "server/libraries/unpack_helper.h"
#include "server/live_policy/policy_reader.h"
#include "server/phases/compile_store.h"
#include "server/session/session_store.h"

namespace sandglass::server {

// What the daemon does while it still has its rights, in steps that are called
// in this order. A step returns the exit status when the daemon can't start,
// having logged why.
class PrivilegedStart {
 public:
  explicit PrivilegedStart(ResolvedConfig settings)
      : settings_(std::move(settings)) {}
  PrivilegedStart(const PrivilegedStart&) = delete;
  PrivilegedStart& operator=(const PrivilegedStart&) = delete;

  // The state directory and the uids are this daemon's for as long as this
  // object lives.
  std::optional<int> AcquirePlaces();
  std::optional<int> LookAtHost();
  void OpenStores();
  // What jails will be made from: templates, zygotes, and secrets for them.
  std::optional<int> PlanJails();
  // The spawners, the egress proxy, the policy reader and the unpacker.
  std::optional<int> StartHelpers();
  std::optional<int> OpenKeptPlaces();
  std::optional<int> BindSocket();
  std::optional<int> DropRights(Heartbeat* supervisor, pid_t parent);
  // Call it once, when all steps went well.
  ServingParts Parts(Heartbeat* supervisor);

 private:
  absl::StatusOr<std::unique_ptr<sandbox::Sandbox>> StartSandbox();

  ResolvedConfig settings_;
  const Config& config_ = settings_.config;
  os::Fd lock_;
  os::Fd ids_;
  sandbox::HostReport host_;
  std::optional<PreparedStore> prepared_;
  std::optional<CompileStore> compiled_;
  ImageStates image_states_;
  std::optional<sandbox::TemplateLedger> ledger_;
  os::Fd spawners_end_;  // of the ledger
  std::optional<EgressStart> seed_;
  std::set<std::string> secrets_;
  std::vector<sandbox::JailTemplate> templates_;
  std::optional<LibrariesParts> libraries_;
  std::unique_ptr<sandbox::Sandbox> sandbox_;
  std::unique_ptr<PolicyReader> reader_;
  std::unique_ptr<UnpackHelper> unpacker_;
  std::unique_ptr<SessionStore> sessions_;
  os::Fd audit_directory_;
  os::Fd listener_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_PRIVILEGED_START_H_
