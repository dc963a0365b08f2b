#include "client/service/service_command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

constexpr char kUpHelp[] = R"(
Examples:
  sandglass up                            # as you: docs/rootless.md has what that takes
  sudo sandglass up                       # as root; you may use it without sudo
  sudo sandglass up --group users
  sandglass up -- --config my.json --metrics 9464

Who may use it: whoever started it, and root. With sudo also you, where your
group is yours alone; others by --group.

Started by root it keeps nothing of root's rights, so that nobody starts it
again when it dies; with -- --supervise a parent does, as root. Its log keeps
the last 4 to 16 MiB.
)";

CLI::Option* AddStateDir(CLI::App& app) {
  return AddValue(app, "--state-dir",
                  "The daemon's directory (default: /run/sandglass as root, "
                  "else $XDG_RUNTIME_DIR/sandglass)",
                  "DIR");
}

}  // namespace

ServiceCommandLine::ServiceCommandLine(CLI::App& app) {
  AddUp(app);
  AddDown(app);
  AddLogs(app);
}

void ServiceCommandLine::AddUp(CLI::App& app) {
  CLI::App* up = app.add_subcommand(
      "up",
      "Start a daemon in the background; what follows -- are its own options");
  CLI::Option* state_dir = AddStateDir(*up);
  CLI::Option* group =
      AddValue(*up, "--group", "A group that may use it, too", "NAME");
  CLI::Option* wait = AddValue(
      *up, "--wait", "How long to wait until it serves (default: 2m)", "TIME");
  const auto json = std::make_shared<bool>(false);
  up->add_flag("--json", *json,
               "As one JSON object: address, log, started, and info as proto "
               "JSON (GetServerInfoResponse)");
  up->footer(kUpHelp);
  commands_.push_back(
      {up, [state_dir, group, wait, json]() -> absl::StatusOr<ServiceOptions> {
         UpOptions options;
         options.json = *json;
         options.state_dir = ValueOf(state_dir).value_or("");
         options.group = ValueOf(group).value_or("");
         std::optional<absl::Duration> time;
         absl::Status status = ParseTimeSpanFlag(wait, time);
         if (!status.ok()) return status;
         options.wait = time.value_or(options.wait);
         return ServiceOptions(std::move(options));
       }});
}

void ServiceCommandLine::AddDown(CLI::App& app) {
  CLI::App* down =
      app.add_subcommand("down", "Stop the daemon that up has started");
  CLI::Option* state_dir = AddStateDir(*down);
  const auto now = std::make_shared<bool>(false);
  down->add_flag("--now", *now, "Without waiting for runs to end");
  const auto json = std::make_shared<bool>(false);
  down->add_flag("--json", *json,
                 "As one JSON object: ended, false where none was up");
  commands_.push_back(
      {down, [state_dir, now, json]() -> absl::StatusOr<ServiceOptions> {
         return ServiceOptions(
             DownOptions{ValueOf(state_dir).value_or(""), *now, *json});
       }});
}

void ServiceCommandLine::AddLogs(CLI::App& app) {
  CLI::App* logs = app.add_subcommand(
      "logs", "Show what the daemon that up has started wrote");
  CLI::Option* state_dir = AddStateDir(*logs);
  CLI::Option* lines =
      AddValue(*logs, "-n,--lines", "So many lines (default: 20)", "N");
  const auto follow = std::make_shared<bool>(false);
  logs->add_flag("-f,--follow", *follow, "And what it writes from now on");
  commands_.push_back(
      {logs, [state_dir, lines, follow]() -> absl::StatusOr<ServiceOptions> {
         LogsOptions options;
         options.state_dir = ValueOf(state_dir).value_or("");
         options.follow = *follow;
         std::optional<uint32_t> count;
         absl::Status status = ParseCountFlag(lines, count);
         if (!status.ok()) return status;
         options.lines = count.value_or(options.lines);
         return ServiceOptions(std::move(options));
       }});
}

bool ServiceCommandLine::parsed() const {
  for (const Command& command : commands_) {
    if (command.app->parsed()) return true;
  }
  return false;
}

absl::StatusOr<ServiceOptions> ServiceCommandLine::Collect(
    std::vector<std::string> more) const {
  for (const Command& command : commands_) {
    if (!command.app->parsed()) continue;
    absl::StatusOr<ServiceOptions> options = command.take();
    if (!options.ok() || more.empty()) return options;
    if (auto* up = std::get_if<UpOptions>(&*options)) {
      up->arguments = std::move(more);
      return options;
    }
    break;
  }
  return absl::InvalidArgumentError("-- has no meaning for this command");
}

}  // namespace sandglass::client
