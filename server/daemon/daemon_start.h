#ifndef SANDGLASS_SERVER_DAEMON_DAEMON_START_H_
#define SANDGLASS_SERVER_DAEMON_DAEMON_START_H_

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/os/fd.h"
#include "sandbox/yard/sandbox.h"
#include "server/daemon/heartbeat.h"
#include "server/daemon/helper_output.h"
#include "server/daemon/kept_listeners.h"
#include "server/daemon/reload_record.h"
#include "server/daemon/resolved_config.h"
#include "server/images/image_files.h"
#include "server/languages/prepared_store.h"
#include "server/libraries/libraries.h"
#include "server/libraries/unpack_helper.h"
#include "server/live_policy/policy_reader.h"
#include "server/phases/compile_store.h"
#include "server/session/session_store.h"
#include "server/tls/tls_context.h"
#include "server/tls/tls_file_reader.h"

namespace sandglass::server {

// Everything that the daemon made while it still had its rights.
struct ServingParts {
  ResolvedConfig settings;
  sandbox::HostReport host;
  // Of all processes that the others here stand for, so it goes after them.
  std::unique_ptr<HelperOutput> helper_output;
  std::unique_ptr<sandbox::Sandbox> sandbox;
  std::optional<PreparedStore> prepared;
  std::optional<CompileStore> compiled;  // absent when nothing is kept
  ImageStates image_states;
  std::optional<LibrariesParts> libraries;  // absent when there are none
  std::string no_libraries;                 // why there are none
  std::unique_ptr<SessionStore> sessions;   // null: none is durable
  os::Fd listener;                          // empty for TCP, unless it was kept
  std::vector<os::Fd> tls_listeners;
  std::unique_ptr<TlsContext> tls;  // null when there are none
  std::unique_ptr<TlsFileReader> tls_reader;
  ReloadRecord reloads;
  os::Fd audit_directory;    // empty: there is no audit log
  os::Fd tokens_directory;   // empty: there are no tokens
  os::Fd budgets_directory;  // empty: what is used of budgets isn't kept
  std::unique_ptr<PolicyReader> policy_reader;
  std::unique_ptr<UnpackHelper> unpacker;  // null when there are no libraries
  std::set<std::string> secrets;           // the names of those that there are
  Heartbeat* supervisor = nullptr;         // null when there is none
  KeptListeners* listeners = nullptr;      // that keep `listener` for the next
};

// Logs why the daemon doesn't start; returns `exit_status`.
int FailStart(const absl::Status& status, int exit_status);

// The unprivileged part: threads, gRPC, and the wait for signals. Returns the
// exit status: 0 once a SIGTERM or SIGINT has drained the daemon, 1 when it
// could not start, or when a spawner or the egress proxy died. SIGHUP reloads
// the policy. A second SIGTERM or SIGINT ends the process at once.
int Serve(ServingParts parts);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DAEMON_START_H_
