#include "client/identity/identity_commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/daemon.h"
#include "client/identity/context_command.h"

namespace sandglass::client {
namespace {

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(time),
                          absl::LocalTimeZone());
}

template <typename Message>
std::string ExpiryText(const Message& message) {
  if (!message.has_expire_time()) return "never";
  return absl::StrCat(
      TimeText(message.expire_time()),
      FromProto(message.expire_time()) <= absl::Now() ? " (expired)" : "");
}

template <typename Message>
std::string ScopesText(const Message& message) {
  std::vector<std::string> names;
  for (const int scope : message.scopes()) {
    const std::string& name = v1::Scope_Name(static_cast<v1::Scope>(scope));
    names.push_back(name.empty() ? absl::StrCat("scope ", scope)
                                 : absl::AsciiStrToLower(
                                       absl::StripPrefix(name, "SCOPE_")));
  }
  std::string text = names.empty() ? "none" : absl::StrJoin(names, ",");
  if (message.read_only()) absl::StrAppend(&text, " (read-only)");
  return text;
}

template <typename Message>
std::string ProfilesText(const Message& message) {
  return message.profiles().empty() ? "all of the tenant"
                                    : absl::StrJoin(message.profiles(), ",");
}

std::string ProofText(v1::Proof proof) {
  switch (proof) {
    case v1::PROOF_UNIX_SOCKET:
      return "the unix socket";
    case v1::PROOF_LOOPBACK:
      return "none: loopback without TLS";
    case v1::PROOF_CERTIFICATE:
      return "a certificate";
    case v1::PROOF_TOKEN:
      return "a token";
    case v1::PROOF_JWT:
      return "a JWT";
    default:
      return "unknown";
  }
}

// A token in a file that others can read is no secret.
void WarnOfOpenFile() {
  struct stat info = {};
  if (fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode) &&
      (info.st_mode & 077) != 0) {
    WriteAll(STDERR_FILENO,
             "sandglass: others may read the file with the token: chmod 600 it "
             "(and call umask 077 before, next time)\n");
  }
}

int WhoAmI(const Daemon& daemon, const WhoAmIOptions& options) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::WhoAmIResponse who;
  const grpc::Status status =
      daemon.identity->WhoAmI(&context, v1::WhoAmIRequest(), &who);
  if (!status.ok()) return FailCall(status, daemon);
  return options.json ? PrintJson(who) : PrintText(WhoAmIText(who));
}

int Create(const Daemon& daemon, const CreateTokenOptions& options) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::CreateTokenResponse created;
  const grpc::Status status =
      daemon.identity->CreateToken(&context, options.request, &created);
  if (!status.ok()) return FailCall(status, daemon);
  WarnOfOpenFile();
  if (options.json) return PrintJson(created);
  const v1::Token& token = created.token();
  // ORDER: the value first, since it can't be had again.
  const int printed = PrintText(absl::StrCat(created.value(), "\n"));
  WriteAll(STDERR_FILENO,
           absl::StrCat(TextTable({{"id", token.id()},
                                   {"tenant", token.tenant()},
                                   {"principal", token.principal()},
                                   {"scopes", ScopesText(token)},
                                   {"profiles", ProfilesText(token)},
                                   {"expires", ExpiryText(token)},
                                   {"note", token.note()}},
                                  "  "),
                        "  It is shown this once. Keep it in a file of mode "
                        "0600 and name that by --token-file.\n"));
  return printed;
}

int ListTokens(const Daemon& daemon, const ListTokensOptions& options) {
  if (absl::Status text = CheckUtf8("--tenant", options.tenant); !text.ok()) {
    return Fail(text);
  }
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ListTokensRequest request;
  request.set_tenant(options.tenant);
  v1::ListTokensResponse tokens;
  const grpc::Status status =
      daemon.identity->ListTokens(&context, request, &tokens);
  if (!status.ok()) return FailCall(status, daemon);
  return options.json ? PrintJson(tokens) : PrintText(TokensText(tokens));
}

int Revoke(const Daemon& daemon, const RevokeTokensOptions& options) {
  int code = kExitOk;
  for (const std::string& id : options.ids) {
    if (absl::StartsWith(id, "sg_")) {
      // Not repeated: it may be the token itself.
      code = Fail(absl::InvalidArgumentError(
          "a token is revoked by its id, not its value; sandglass token list "
          "shows the ids"));
      continue;
    }
    if (absl::Status text = CheckUtf8("ID", id); !text.ok()) return Fail(text);
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::RevokeTokenRequest request;
    request.set_id(id);
    v1::RevokeTokenResponse response;
    const grpc::Status status =
        daemon.identity->RevokeToken(&context, request, &response);
    if (!status.ok()) {
      code = FailCall(status, daemon);
      continue;
    }
    const int printed =
        options.json
            ? PrintJson(response)
            : PrintText(absl::StrCat("revoked ", VisibleText(id), "\n"));
    if (printed != kExitOk) return printed;
  }
  return code;
}

struct OnDaemon {
  const Daemon& daemon;
  int operator()(const ContextOptions&) const { return kExitError; }
  int operator()(const WhoAmIOptions& o) const { return WhoAmI(daemon, o); }
  int operator()(const CreateTokenOptions& o) const {
    return Create(daemon, o);
  }
  int operator()(const ListTokensOptions& o) const {
    return ListTokens(daemon, o);
  }
  int operator()(const RevokeTokensOptions& o) const {
    return Revoke(daemon, o);
  }
};

}  // namespace

std::string WhoAmIText(const v1::WhoAmIResponse& who) {
  std::vector<std::vector<std::string>> rows = {
      {"tenant", who.tenant()},        {"principal", who.principal()},
      {"caller", who.caller()},        {"scopes", ScopesText(who)},
      {"profiles", ProfilesText(who)}, {"proved by", ProofText(who.proof())},
      {"good until", ExpiryText(who)}};
  if (!who.token_id().empty()) rows.push_back({"token", who.token_id()});
  return TextTable(rows, "");
}

std::string TokensText(const v1::ListTokensResponse& tokens) {
  std::vector<std::vector<std::string>> rows = {{"ID", "TENANT", "PRINCIPAL",
                                                 "SCOPES", "PROFILES",
                                                 "CREATED", "EXPIRES", "NOTE"}};
  for (const v1::Token& token : tokens.tokens()) {
    rows.push_back(
        {token.id(), token.tenant(), token.principal(), ScopesText(token),
         token.profiles().empty() ? "-" : absl::StrJoin(token.profiles(), ","),
         TimeText(token.create_time()), ExpiryText(token), token.note()});
  }
  return TextTable(rows, "");
}

int IdentityCommand(const EndpointFlags& flags,
                    const IdentityOptions& options) {
  if (const auto* context = std::get_if<ContextOptions>(&options)) {
    return ContextCommand(flags, *context);
  }
  const absl::StatusOr<Endpoint> endpoint =
      ResolveEndpoint(flags, EnvironmentVariable);
  if (!endpoint.ok()) return Fail(endpoint.status());
  const absl::StatusOr<Daemon> daemon = OpenDaemon(*endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  return std::visit(OnDaemon{*daemon}, options);
}

}  // namespace sandglass::client
