// sandglassd: the daemon's command line.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "policy/text/json_reader.h"
#include "server/base/log.h"
#include "server/base/version.h"
#include "server/daemon/daemon.h"
#include "server/daemon/early_log.h"
#include "server/daemon/kept_listeners.h"
#include "server/daemon/supervisor.h"
#include "server/libraries/unpack_process.h"

namespace {

namespace server = sandglass::server;

// The message for the first argument that nothing accepts, with the nearest
// option.
std::string UnexpectedWord(const CLI::App& app, int argc, char** argv) {
  const std::vector<std::string> extra = app.remaining();
  const std::vector<std::string> typed(argv + 1, argv + argc);
  const auto first = std::ranges::find_first_of(typed, extra);
  if (first == typed.end()) return "";
  const std::string word = first->substr(0, first->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  // "version" is near "--version".
  const bool is_option = word.starts_with("-");
  const std::string nearest = sandglass::policy::NearestWord(
      is_option ? word : absl::StrCat("--", word), names);
  return absl::StrCat(
      is_option ? "there is no option '" : "unexpected '", word, "'",
      nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"));
}

// Says what is wrong with the command line; gives the exit code.
int Refuse(const std::string& error, server::LogFormat log_format) {
  if (log_format == server::LogFormat::kJson) {
    server::Log(server::LogLevel::kError, "bad_command_line",
                {{"error", error}});
  } else {
    std::fprintf(stderr, "sandglassd: %s (see sandglassd --help)\n",
                 error.c_str());
  }
  return server::kExitBadConfig;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef NDEBUG
  // Distributions build Abseil with it, and then each lock takes a lock that
  // all threads share, and a cycle ends the process. Tests still look for them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
  // The daemon starts itself under another name; not for people.
  if (server::IsUnpacker(argc, argv)) return server::ServeUnpacker();
  const server::LogFormat log_format = server::StartEarlyLog(argc, argv);
  server::ConfigFlags flags;
  bool check = false;
  bool supervise = false;
  bool sweep = false;
  bool sweep_all = false;
  bool reload = false;

  CLI::App app("Runs programs in jails, for clients that ask over gRPC.",
               "sandglassd");
  app.set_version_flag("-V,--version", server::kVersion);
  app.add_option("--config", flags.config_file,
                 "Configuration: JSON with comments")
      ->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to listen, repeated for more than one place (default "
                 "unix:STATE_DIR/sandglass.sock); with TLS where others than "
                 "this machine can connect")
      ->type_name("unix:/PATH|IP:PORT");
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
  app.add_option("--socket-group", flags.socket_group,
                 "Who besides root may use the socket (default: the group of "
                 "the daemon's account)")
      ->type_name("GROUP");
  app.add_option("--excuse-missing", flags.excuse_missing,
                 "Start although the host lacks this layer of isolation")
      ->type_name("LAYER");
  app.add_flag("--trace-syscalls", flags.trace_syscalls,
               "Report the system calls that each run was refused; slower, for "
               "finding out what a runtime needs");
  app.add_option("--log-limit", flags.log_limit_mib,
                 "Most of the log in MiB, where standard error is a file: the "
                 "oldest lines go (default: no limit)")
      ->type_name("MIB");
  app.add_option("--end-when-idle", flags.end_when_idle,
                 "End when nobody has used it for so long (default: never)")
      ->type_name("TIME");
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
  app.add_flag("--sweep-all", sweep_all,
               "The same, and remove the state directory itself");
  app.add_flag("--reload", reload,
               "Have the running daemon of this state directory reload its "
               "policy, wait until it has, then exit; 1: it was refused");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    return Refuse(UnexpectedWord(app, argc, argv), log_format);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return Refuse(error.what(), log_format);
  }

  if (sweep_all) return server::CleanUpAll(flags);
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
