#include "client/audit/audit_command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

constexpr char kExamples[] = R"text(
Examples:
  sandglass audit verify /var/log/sandglass/audit
  sandglass audit head /var/log/sandglass/audit > /mnt/elsewhere/audit-head
  sandglass audit verify /var/log/sandglass/audit --head "$(cat audit-head)"
  sandglass audit show /var/log/sandglass/audit --since 2h --outcome TIMEOUT
  sandglass audit show /var/log/sandglass/audit --run run-0123456789abcdef --json
)text";

constexpr char kPathHelp[] =
    "The log's directory, or files of it in their order";

}  // namespace

absl::StatusOr<absl::Time> ParseAuditTime(absl::string_view text,
                                          absl::Time now) {
  absl::Time time;
  std::string error;
  for (const char* format :
       {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%E*S"}) {
    if (absl::ParseTime(format, text, absl::LocalTimeZone(), &time, &error)) {
      return time;
    }
  }
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  const absl::StatusOr<absl::Duration> span = ParseTimeSpan(text);
  if (span.ok()) return now - *span;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", VisibleText(text),
      "' is no time: write for example 2025-01-31, '2025-01-31 08:00', "
      "2025-01-31T08:00:00Z, or 2h for two hours ago (up to 720h)"));
}

absl::Status ParseAuditTimeFlag(const CLI::Option* option,
                                std::optional<absl::Time>& out) {
  const std::optional<std::string> text = ValueOf(option);
  if (!text) return absl::OkStatus();
  const absl::StatusOr<absl::Time> time = ParseAuditTime(*text, absl::Now());
  if (!time.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option->get_name(), ": ", time.status().message()));
  }
  out = *time;
  return absl::OkStatus();
}

AuditCommandLine::AuditCommandLine(CLI::App& app)
    : audit_(app.add_subcommand(
          "audit", "Verify and read an audit log; needs no daemon")) {
  audit_->require_subcommand(0, 1);
  AddVerify();
  AddHead();
  AddShow();
  // Set only now, because a subcommand would inherit it.
  audit_->footer(absl::StrCat(kExamples, "\n", AuditExitCodeHelp()));
}

bool AuditCommandLine::parsed() const { return audit_->parsed(); }

absl::StatusOr<AuditOptions> AuditCommandLine::Collect() const {
  for (const Command& command : commands_) {
    if (command.app->parsed()) return command.take();
  }
  return absl::InvalidArgumentError(
      "give a command of audit: verify, head or show");
}

CLI::App& AuditCommandLine::Add(const std::string& name,
                                const std::string& help) {
  CLI::App* app = audit_->add_subcommand(name, help);
  app->footer(absl::StrCat("\n", AuditExitCodeHelp()));
  commands_.push_back({app, nullptr});
  return *app;
}

void AuditCommandLine::AddVerify() {
  CLI::App& app = Add("verify",
                      "Look whether a log is as it was written: no line "
                      "altered, removed, moved or inserted");
  CLI::Option* paths = AddWords(app, "PATH", kPathHelp, "")->required();
  CLI::Option* head =
      AddValue(app, "--head",
               "A head that was kept elsewhere, which the log must contain; "
               "shows also an end that was cut off and a log that was written "
               "anew",
               "SEQ:HASH");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "As one JSON object");
  commands_.back().take = [=]() -> absl::StatusOr<AuditOptions> {
    AuditVerifyOptions taken;
    taken.json = *json;
    taken.paths = paths->results();
    if (const std::optional<std::string> text = ValueOf(head)) {
      absl::StatusOr<policy::AuditHead> parsed = policy::ParseAuditHead(*text);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--head: ", parsed.status().message()));
      }
      taken.head = *std::move(parsed);
    }
    return taken;
  };
}

void AuditCommandLine::AddHead() {
  CLI::App& app = Add("head",
                      "Print the log's last line as SEQ:HASH, to be kept where "
                      "nobody here can change it");
  CLI::Option* path =
      AddValue(app, "PATH", "The log's directory, or its last file")
          ->required();
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "As one JSON object: seq and hash");
  commands_.back().take = [=]() -> absl::StatusOr<AuditOptions> {
    return AuditHeadOptions{ValueOf(path).value_or(""), *json};
  };
}

void AuditCommandLine::AddShow() {
  CLI::App& app = Add("show", "Show a log's lines as a table");
  CLI::Option* paths = AddWords(app, "PATH", kPathHelp, "")->required();
  CLI::Option* since =
      AddValue(app, "--since",
               "From this time on: a date, RFC 3339, or 2h (ago)", "TIME");
  CLI::Option* until = AddValue(app, "--until", "Before this time", "TIME");
  CLI::Option* caller =
      AddValue(app, "--caller", "Of this caller, such as uid:1000", "NAME");
  CLI::Option* event = AddValue(
      app, "--event", "Of this kind, such as run, start or stop", "EVENT");
  CLI::Option* outcome = AddValue(
      app, "--outcome",
      "With this outcome, such as TIMEOUT, or this error, such as UNAVAILABLE",
      "OUTCOME");
  CLI::Option* language =
      AddValue(app, "-l,--lang", "In this language, by its id", "LANG");
  CLI::Option* run = AddValue(app, "--run", "Of this run or command", "ID");
  CLI::Option* session = AddValue(app, "--session", "Of this session", "ID");
  CLI::Option* last = AddValue(
      app, "--last", "The last N of them (default: 100, with --json all)", "N");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "The lines as they are, JSON objects");
  commands_.back().take = [=]() -> absl::StatusOr<AuditOptions> {
    AuditShowOptions taken;
    taken.paths = paths->results();
    taken.caller = ValueOf(caller).value_or("");
    taken.event = ValueOf(event).value_or("");
    taken.outcome = ValueOf(outcome).value_or("");
    taken.language = ValueOf(language).value_or("");
    taken.run_id = ValueOf(run).value_or("");
    taken.session_id = ValueOf(session).value_or("");
    taken.json = *json;
    absl::Status status = ParseAuditTimeFlag(since, taken.since);
    status.Update(ParseAuditTimeFlag(until, taken.until));
    status.Update(ParseCountFlag(last, taken.last));
    if (!status.ok()) return status;
    return taken;
  };
}

}  // namespace sandglass::client
