#include "client/identity/identity_command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/address.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

constexpr char kContextHelp[] = R"text(
A context is a name for a daemon and for what proves who you are to it. They are
kept in ~/.config/sandglass/config ($XDG_CONFIG_HOME), which is yours alone. The
flags --address, --ca, --cert, --key and --token-file say what is added. For each
value, flags come before --context, that before SANDGLASS_ADDRESS, _CA, _CERT,
_KEY, _TOKEN and _TOKEN_FILE, these before SANDGLASS_CONTEXT and the context in
use, which counts only where nothing else says which daemon is meant.

Examples:
  sandglass context add team --address dns:///sand.example.org:8443 \
    --ca ca.pem --token-file token
  sandglass context use team
  sandglass --context team whoami
)text";

constexpr char kTokenHelp[] = R"text(
A token proves who calls, over TLS or on the unix socket. Its value is shown once
and is kept by nobody but you. root on the daemon's unix socket may make tokens,
and so may callers with the scope admin.

Examples:
  (umask 077; sandglass token create --tenant team-a --note ci >ci.token)
  sandglass token create --scope run --profile strict --lifetime 12h
  sandglass token list
  sandglass token revoke ID
)text";

absl::StatusOr<v1::Scope> ScopeNamed(const std::string& name) {
  v1::Scope scope = v1::SCOPE_UNSPECIFIED;
  if (v1::Scope_Parse(absl::StrCat("SCOPE_", absl::AsciiStrToUpper(name)),
                      &scope) &&
      scope != v1::SCOPE_UNSPECIFIED) {
    return scope;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--scope '", VisibleText(name),
      "': there are run, sessions, files, exec, approve, operate and admin"));
}

// Days, too, unlike other times, which are short.
absl::StatusOr<absl::Duration> ParseLifetime(const std::string& text) {
  int days = 0;
  if (absl::EndsWith(text, "d") &&
      absl::SimpleAtoi(absl::StripSuffix(text, "d"), &days) && days > 0 &&
      days <= 3650) {
    return absl::Hours(24) * days;
  }
  const absl::StatusOr<absl::Duration> span = ParseTimeSpan(text);
  if (span.ok() && *span >= absl::Seconds(1)) return *span;
  return absl::InvalidArgumentError(
      absl::StrCat("--lifetime '", VisibleText(text),
                   "': write days, as 90d (3650d at most), or a shorter time "
                   "such as 12h or 30m"));
}

}  // namespace

EndpointCommandLine::EndpointCommandLine(CLI::App& app) {
  address_ = AddValue(
      app, "--address",
      absl::StrCat("The daemon: unix:/path, 127.0.0.1:PORT, or HOST:PORT by "
                   "TLS (default: $SANDGLASS_ADDRESS, else the context in use, "
                   "else your own daemon, else ",
                   kDefaultAddress, ")"),
      "ADDR");
  ca_ = AddValue(app, "--ca",
                 "The authority of its certificate, in PEM (default: "
                 "$SANDGLASS_CA, else the system's)",
                 "FILE");
  cert_ =
      AddValue(app, "--cert",
               "Your certificate, in PEM (default: $SANDGLASS_CERT)", "FILE");
  key_ = AddValue(app, "--key", "Its key (default: $SANDGLASS_KEY)", "FILE");
  token_file_ = AddValue(app, "--token-file",
                         "A file with your token (default: "
                         "$SANDGLASS_TOKEN_FILE; or $SANDGLASS_TOKEN)",
                         "FILE");
  context_ = AddValue(app, "--context",
                      "A daemon by the name that sandglass context gave it; "
                      "before the command (default: $SANDGLASS_CONTEXT)",
                      "NAME");
}

EndpointFlags EndpointCommandLine::Collect() const {
  return {.address = ValueOf(address_),
          .ca = ValueOf(ca_),
          .cert = ValueOf(cert_),
          .key = ValueOf(key_),
          .token_file = ValueOf(token_file_),
          .context = ValueOf(context_)};
}

IdentityCommandLine::IdentityCommandLine(CLI::App& app) {
  context_ = app.add_subcommand("context", "Name daemons, and choose one");
  context_->require_subcommand(0, 1);
  context_->footer(kContextHelp);
  context_->add_flag("--json", json_, "As one JSON object");
  using Act = ContextOptions::Act;
  AddContext(Act::kList, "list", "Show them (as without a command)");
  AddContext(Act::kAdd, "add", "Keep the daemon of these flags by a name");
  AddContext(Act::kUse, "use", "Make one the usual daemon");
  AddContext(Act::kShow, "show", "Show one; without a name the one in use");
  AddContext(Act::kRemove, "remove", "Forget one");
  whoami_ = app.add_subcommand(
      "whoami", "Show who you are to the daemon, and what you may do");
  whoami_->add_flag("--json", json_, "As proto JSON (WhoAmIResponse)");
  commands_.push_back({whoami_, [this]() -> absl::StatusOr<IdentityOptions> {
                         return WhoAmIOptions{json_};
                       }});
  token_ = app.add_subcommand("token", "Make, show and revoke tokens");
  token_->require_subcommand(0, 1);
  token_->footer(kTokenHelp);
  token_->add_flag("--json", json_, "As proto JSON");
  AddToken();
}

void IdentityCommandLine::AddContext(ContextOptions::Act act, const char* name,
                                     const char* help) {
  using Act = ContextOptions::Act;
  CLI::App* app = context_->add_subcommand(name, help);
  CLI::Option* which = nullptr;
  if (act != Act::kList) {
    which = app->add_option("NAME", "The context")->expected(1);
    if (act != Act::kShow) which->required();
  }
  commands_.push_back(
      {app, [this, act, which]() -> absl::StatusOr<IdentityOptions> {
         ContextOptions options{.act = act, .name = "", .json = json_};
         if (which != nullptr) options.name = ValueOf(which).value_or("");
         return options;
       }});
}

void IdentityCommandLine::AddToken() {
  CLI::App* create = token_->add_subcommand(
      "create", "Make one; prints its value, once, and nothing else there");
  tenant_ = AddValue(*create, "--tenant", "Whose (default: local)", "NAME");
  principal_ =
      AddValue(*create, "--principal",
               "Who in the tenant (default: token: and its id)", "NAME");
  scopes_ = AddValues(*create, "--scope",
                      "What it may do: run, sessions, files, exec, approve, "
                      "operate, admin (default: the first four)",
                      "SCOPE");
  profiles_ =
      AddValues(*create, "--profile",
                "Which profiles it may use (default: the tenant's)", "NAME");
  create->add_flag("--read-only", read_only_,
                   "Only for calls that change nothing");
  lifetime_ = AddValue(*create, "--lifetime",
                       "How long it is good (default: 90d)", "TIME");
  note_ = AddValue(*create, "--note", "What it is for, for people", "TEXT");
  commands_.push_back({create, [this] { return CollectNewToken(); }});

  CLI::App* list =
      token_->add_subcommand("list", "Show them, without their values");
  CLI::Option* tenant =
      AddValue(*list, "--tenant", "Only of this tenant", "NAME");
  commands_.push_back(
      {list, [this, tenant]() -> absl::StatusOr<IdentityOptions> {
         return ListTokensOptions{ValueOf(tenant).value_or(""), json_};
       }});
  CLI::App* revoke =
      token_->add_subcommand("revoke", "Have the daemon take them no longer");
  CLI::Option* ids = AddWords(*revoke, "ID", "A token, as list shows it", "ID");
  ids->required();
  commands_.push_back(
      {revoke, [this, ids]() -> absl::StatusOr<IdentityOptions> {
         return RevokeTokensOptions{ids->results(), json_};
       }});
}

absl::StatusOr<IdentityOptions> IdentityCommandLine::CollectNewToken() const {
  CreateTokenOptions options;
  options.json = json_;
  v1::CreateTokenRequest& request = options.request;
  request.set_tenant(ValueOf(tenant_).value_or(""));
  request.set_principal(ValueOf(principal_).value_or(""));
  request.set_note(ValueOf(note_).value_or(""));
  request.set_read_only(read_only_);
  absl::Status checked = CheckUtf8("--tenant", request.tenant());
  checked.Update(CheckUtf8("--principal", request.principal()));
  checked.Update(CheckUtf8("--note", request.note()));
  for (const std::string& profile : profiles_->results()) {
    checked.Update(CheckUtf8("--profile", profile));
    request.add_profiles(profile);
  }
  if (!checked.ok()) return checked;
  for (const std::string& given : scopes_->results()) {
    for (const absl::string_view name : absl::StrSplit(given, ',')) {
      const absl::StatusOr<v1::Scope> scope = ScopeNamed(std::string(name));
      if (!scope.ok()) return scope.status();
      request.add_scopes(*scope);
    }
  }
  if (const auto text = ValueOf(lifetime_)) {
    const absl::StatusOr<absl::Duration> lifetime = ParseLifetime(*text);
    if (!lifetime.ok()) return lifetime.status();
    *request.mutable_lifetime() = ToProto(*lifetime);
  }
  return options;
}

bool IdentityCommandLine::parsed() const {
  return context_->parsed() || whoami_->parsed() || token_->parsed();
}

absl::StatusOr<IdentityOptions> IdentityCommandLine::Collect() const {
  for (const Command& command : commands_) {
    if (command.app->parsed()) return command.take();
  }
  if (context_->parsed()) return ContextOptions{.json = json_};
  return absl::InvalidArgumentError("give a command: create, list or revoke");
}

}  // namespace sandglass::client
