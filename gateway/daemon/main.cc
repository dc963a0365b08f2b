// sandglass-gateway: its command line.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/synchronization/mutex.h"
#include "gateway/daemon/gateway.h"
#include "gateway/daemon/gateway_config.h"
#include "server/base/log.h"
#include "server/base/version.h"

namespace {

namespace gateway = sandglass::gateway;
namespace server = sandglass::server;

// As sysexits.h has them, and sandglassd: another configuration is needed.
constexpr int kExitBadConfig = 78;

int Fail(const absl::Status& status) {
  server::Log(server::LogLevel::kError, "start_failed",
              {{"error", std::string(status.message())}});
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                 absl::IsFailedPrecondition(status)
             ? kExitBadConfig
             : 1;
}

void RaiseOpenFiles() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef NDEBUG
  // As in sandglassd: each lock would take a lock that all threads share.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  std::string config_file = "/etc/sandglass/gateway.json";
  bool check = false;
  CLI::App app(
      "One address for many sandglassd nodes: finds the node for each call and "
      "passes it on.",
      "sandglass-gateway");
  app.set_version_flag("-V,--version", server::kVersion);
  app.add_option("--config", config_file, "Configuration: JSON with comments")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--check", check,
               "Print the effective configuration, then exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr,
                 "sandglass-gateway: %s (see sandglass-gateway --help)\n",
                 error.what());
    return kExitBadConfig;
  }
  absl::StatusOr<gateway::GatewayConfig> config =
      gateway::LoadGatewayConfig(config_file);
  if (!config.ok()) return Fail(config.status());
  server::StartLog(config->log_level, config->log_format);
  if (check) {
    std::printf("%s\n", gateway::GatewayConfigToJson(*config).c_str());
    return 0;
  }
  RaiseOpenFiles();
  gateway::Gateway running(config_file, *std::move(config));
  if (absl::Status started = running.Start(); !started.ok()) {
    return Fail(started);
  }
  running.Run();
  return 0;
}
