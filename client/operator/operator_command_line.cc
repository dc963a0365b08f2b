#include "client/operator/operator_command_line.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/audit/audit_command_line.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

// A shorter interval would itself be a load.
constexpr absl::Duration kMinInterval = absl::Milliseconds(100);

constexpr char kTopHelp[] = R"text(
Keys: q, Ctrl-C or Ctrl-D leave it. Callers see their own runs and sessions,
root sees all. It goes on, and says so, while the daemon is away.
)text";

constexpr char kUsageHelp[] = R"text(
Columns:
  RUNS      programs that were started, cells of sessions among them
  COMMANDS  commands in sessions
  CPU S     processor seconds, user and system, compilers' included
  GIB S     GiB-seconds of memory: the sum over all of them of peak memory times
            wall time, so that 512 MiB for 10 s is 5
  WALL S    seconds that they ran
  NETWORK   bytes sent and received
  REFUSED   requests that didn't come to a run

Without --audit it is counted since the daemon's start. Root and the approvers
of the daemon's configuration see all callers, others themselves.

With --audit it is computed from the lines of an audit log, which outlives
restarts, and needs no daemon: of the runs and commands that ended in the time
from --since to --until. The log is verified on the way; one that is not as it
was written exits with 1.

Examples:
  sandglass usage --by language
  sandglass usage --audit /var/log/sandglass/audit --since 2025-01-01 \
    --until 2025-02-01 --json
)text";

}  // namespace

OperatorCommandLine::OperatorCommandLine(CLI::App& app) {
  status_ = app.add_subcommand(
      "status", "Show whether the daemon does well, and if not why");
  status_->add_flag("--json", status_options_.json,
                    "As proto JSON (GetStatusResponse)");
  status_->footer(absl::StrCat("\n", StatusExitCodeHelp()));

  top_ = app.add_subcommand(
      "top", "Show live what the daemon does; without a terminal once");
  interval_ = AddValue(*top_, "--interval",
                       "Time between two looks (default: 1s)", "TIME");
  top_->add_flag("--once", top_options_.once,
                 "Look twice, an interval apart, print that and exit");
  top_->add_flag("--json", top_options_.json,
                 "Look once: one object with status, active, ended and "
                 "sessions, as proto JSON");
  top_->footer(kTopHelp);

  usage_ = app.add_subcommand("usage", "Show what callers used: what to bill");
  by_ = AddValue(*usage_, "--by",
                 "A line for each: caller (default) or language", "WHAT");
  caller_ = AddValue(*usage_, "--caller",
                     "Only of this caller, such as uid:1000", "NAME");
  usage_->add_flag("--json", usage_options_.json,
                   "As proto JSON (GetUsageResponse): by caller and language");
  audit_ = AddValue(*usage_, "--audit",
                    "Of an audit log: its directory, or one file of it", "DIR");
  since_ = AddValue(*usage_, "--since",
                    "With --audit: from this time on: a date, RFC 3339, or 2h "
                    "(ago)",
                    "TIME");
  until_ =
      AddValue(*usage_, "--until", "With --audit: before this time", "TIME");
  usage_->footer(kUsageHelp);
}

bool OperatorCommandLine::parsed() const {
  return status_->parsed() || top_->parsed() || usage_->parsed();
}

absl::StatusOr<OperatorOptions> OperatorCommandLine::Collect() const {
  if (top_->parsed()) return CollectTop();
  if (usage_->parsed()) return CollectUsage();
  return status_options_;
}

absl::StatusOr<OperatorOptions> OperatorCommandLine::CollectTop() const {
  TopOptions options = top_options_;
  std::optional<absl::Duration> interval;
  const absl::Status status = ParseTimeSpanFlag(interval_, interval);
  if (!status.ok()) return status;
  options.interval = interval.value_or(options.interval);
  if (options.interval < kMinInterval) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--interval '", VisibleText(ValueOf(interval_).value_or("")),
        "': write at least ", absl::FormatDuration(kMinInterval)));
  }
  return options;
}

absl::StatusOr<OperatorOptions> OperatorCommandLine::CollectUsage() const {
  UsageOptions options = usage_options_;
  const std::string by = ValueOf(by_).value_or("caller");
  if (by != "caller" && by != "language") {
    return absl::InvalidArgumentError(
        absl::StrCat("--by '", VisibleText(by), "': write caller or language"));
  }
  options.by = by == "caller" ? UsageBy::kCaller : UsageBy::kLanguage;
  options.caller = ValueOf(caller_).value_or("");
  options.audit = ValueOf(audit_);
  absl::Status status = ParseAuditTimeFlag(since_, options.since);
  status.Update(ParseAuditTimeFlag(until_, options.until));
  if (!status.ok()) return status;
  if (!options.audit && (options.since || options.until)) {
    return absl::InvalidArgumentError(
        "--since and --until need --audit: the daemon counts from its start");
  }
  return options;
}

}  // namespace sandglass::client
