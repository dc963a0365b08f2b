// sandglassd: the daemon's command line.

#include <unistd.h>

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/daemon/daemon.h"
#include "server/daemon/early_log.h"
#include "server/daemon/kept_listeners.h"
#include "server/daemon/supervisor.h"
#include "server/libraries/unpack_process.h"

int main(int argc, char** argv) {
  namespace server = sandglass::server;
  // The daemon starts itself under another name; not for people.
  if (server::IsUnpacker(argc, argv)) return server::ServeUnpacker();
  const server::LogFormat log_format = server::StartEarlyLog(argc, argv);
  server::ConfigFlags flags;
  bool check = false;
  bool supervise = false;
  bool sweep = false;
  bool reload = false;

  CLI::App app("Runs programs in jails, for clients that ask over gRPC.",
               "sandglassd");
  app.set_version_flag("--version", server::kVersion);
  app.add_option("--config", flags.config_file,
                 "Configuration: JSON with comments")
      ->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to listen (default unix:STATE_DIR/sandglass.sock)")
      ->type_name("unix:/PATH|127.0.0.1:PORT");
  app.add_option("--state-dir", flags.state_dir,
                 "Directory of this daemon (default /run/sandglass)")
      ->type_name("DIR");
  app.add_option("--cache-dir", flags.cache_dir,
                 "Directory of what is prepared once for languages "
                 "(default /var/cache/sandglass)")
      ->type_name("DIR");
  app.add_option("--policy-dir", flags.policy_dir,
                 "Languages, profiles and system call policies")
      ->type_name("DIR");
  app.add_option("--spawner", flags.spawner, "The sandglass-spawner executable")
      ->type_name("PATH");
  app.add_option("--metrics", flags.metrics,
                 "Serve metrics for Prometheus there; a port alone is one of "
                 "127.0.0.1 (default: nowhere)")
      ->type_name("[ADDRESS:]PORT");
  app.add_option("--excuse-missing", flags.excuse_missing,
                 "Start although the host lacks this layer of isolation")
      ->type_name("LAYER");
  app.add_flag("--trace-syscalls", flags.trace_syscalls,
               "Report the system calls that each run was refused; slower, for "
               "finding out what a runtime needs");
  app.add_flag("--check", check,
               "Print the effective configuration and what the host offers, "
               "then exit");
  app.add_flag("--supervise", supervise,
               "Stay as a parent that starts the daemon again when it dies or "
               "hangs");
  app.add_flag(
      "--sweep", sweep,
      "Remove what a daemon of this state directory that is gone left: "
      "its control groups and its socket; then exit");
  app.add_flag("--reload", reload,
               "Have the running daemon of this state directory reload its "
               "policy, wait until it has, then exit; 1: it was refused");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    if (log_format == server::LogFormat::kJson) {
      server::Log(server::LogLevel::kError, "bad_command_line",
                  {{"error", std::string(error.what())}});
    } else {
      std::fprintf(stderr, "sandglassd: %s (see sandglassd --help)\n",
                   error.what());
    }
    return server::kExitBadConfig;
  }

  if (sweep) return server::CleanUp(flags);
  if (check) return server::CheckDaemon(flags);
  if (reload) return server::ReloadDaemon(flags);
  server::KeptListeners listeners = server::KeptListeners::FromServiceManager();
  if (!supervise) return server::RunDaemon(flags, nullptr, listeners);
  return server::Supervise(
      [&](server::Heartbeat& heartbeat) {
        return server::RunDaemon(flags, &heartbeat, listeners);
      },
      [&] { return server::CleanUp(flags); }, {.listeners = &listeners});
}
