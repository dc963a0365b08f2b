#ifndef SANDGLASS_SERVER_DAEMON_CONFIG_H_
#define SANDGLASS_SERVER_DAEMON_CONFIG_H_

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/image.h"
#include "server/admission/admission.h"
#include "server/audit/audit_log.h"
#include "server/audit/audit_trail.h"
#include "server/base/listen_address.h"
#include "server/base/log.h"
#include "server/daemon/egress_config.h"
#include "server/identity/identity_config.h"
#include "server/job/session_spec.h"
#include "server/libraries/libraries_config.h"
#include "server/metrics/metrics_config.h"
#include "server/phases/compile_cache.h"
#include "server/pool/pool_targets.h"
#include "server/run/approvals.h"
#include "server/run/run_registry.h"
#include "server/tls/tls_config.h"

namespace sandglass::server {

// The values from the command line; absent means the file's value, or the
// default.
struct ConfigFlags {
  std::string config_file;  // empty when there is none
  std::vector<std::string> listen;
  std::optional<std::string> state_dir;
  std::optional<std::string> cache_dir;
  std::optional<std::string> policy_dir;
  std::optional<std::string> spawner;
  std::optional<std::string> metrics;
  std::optional<std::string> socket_group;
  std::optional<std::string> end_when_idle;
  std::optional<uint32_t> log_limit_mib;
  std::vector<std::string> excuse_missing;  // added to the file's
  bool trace_syscalls = false;
};

// The settings of the audit log.
struct AuditConfig {
  std::string dir;  // empty when none is written
  AuditLogOptions log;
  AuditTrailOptions trail;
};

// One spawner keeps some four processors busy with the jails that it makes.
constexpr uint32_t kMaxSpawners = 8;
constexpr uint32_t DefaultSpawners(uint32_t processors) {
  return std::clamp(processors / 4, 1u, kMaxSpawners);
}

// Everything that can be set, with defaults filled in. deploy/sandglassd.json
// describes each key.
struct Config {
  ListenAddress listen;  // in plain text, of this machine alone
  std::vector<ListenAddress> listen_tls;
  TlsConfig tls;
  std::string state_dir = "/run/sandglass";
  // The directory for what is prepared once and then kept: losing it costs time
  // at the next start.
  std::string cache_dir = "/var/cache/sandglass";
  std::string policy_dir;
  std::string tenants_dir;            // empty: no tenant has a file
  std::vector<policy::Image> images;  // besides the host's
  std::vector<std::string> host_etc;  // see sandbox/yard/image_etc.h
  std::string spawner;
  EgressConfig egress;
  LibrariesConfig libraries;
  MetricsConfig metrics;
  std::string user;             // name, "uid:gid", or empty: see accounts.h
  uid_t uid_base = 1879048192;  // see sandbox/wire/uid_slice.h
  mode_t socket_mode = 0660;
  std::string socket_group;  // name or number; empty: the user's group
  // The daemon ends when nobody has been connected and nothing was there of a
  // caller for so long.
  absl::Duration end_when_idle = absl::InfiniteDuration();
  std::optional<uint64_t> log_limit;  // bytes of standard error, where a file
  std::string cgroup_parent;          // empty: depends on the host's layout
  AdmissionOptions admission;
  PoolOptions pool{{.floor = 4}};
  // How many runners one zygote makes before it is replaced, so that what they
  // share, hash seed and addresses, becomes new.
  uint32_t zygote_runs = 1000;
  // Of each kind of jail, those that are made from the start.
  uint32_t spawners = DefaultSpawners(std::thread::hardware_concurrency());
  RetentionOptions retention;
  SessionOptions sessions;
  CompileCacheOptions compile_cache;
  AuditConfig audit;
  absl::Duration drain_timeout = absl::Seconds(30);
  uint64_t max_message_bytes = uint64_t{16} << 20;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::vector<std::string> excuse_missing;
  std::vector<std::string> approvers;  // accounts or numbers
  std::string node_name;  // by which gateways know it; empty: none does
  IdentityConfig identity;
  ApprovalOptions approvals;
  // Whether each language is tried under each system call filter when the
  // daemon starts.
  bool canaries = true;
  // Set only by the command line: calls that filters refuse are reported. This
  // is slower, and there are no zygotes.
  bool trace_syscalls = false;
};

// Reads the file, if there is one, and applies the flags. INVALID_ARGUMENT
// lists everything that is wrong, unknown keys included, by flag, or by file
// and JSON pointer.
absl::StatusOr<Config> LoadConfig(const ConfigFlags& flags);

// The effective configuration in the form of the file.
std::string ConfigToJson(const Config& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_CONFIG_H_
