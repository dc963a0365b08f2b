#include "client/cli/mcp_command.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/address.h"
#include "client/connection/daemon.h"
#include "client/mcp/daemon_link.h"
#include "client/mcp/daemon_tools.h"
#include "client/mcp/http/http_server.h"
#include "client/mcp/http/mcp_endpoint.h"
#include "client/mcp/mcp_protocol.h"
#include "client/mcp/stdio_server.h"
#include "client/mcp/stop_signal.h"
#include "client/terminal/signal_listener.h"

namespace sandglass::client {
namespace {

constexpr char kTokenVariable[] = "SANDGLASS_MCP_TOKEN";
constexpr size_t kMaxTokenBytes = 4096;
constexpr size_t kMinTokenBytes = 16;

absl::Status CheckToken(absl::string_view where, absl::string_view token) {
  if (token.size() < kMinTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": a token must have at least ", kMinTokenBytes,
                     " characters; make one with: openssl rand -hex 32"));
  }
  if (!std::all_of(token.begin(), token.end(),
                   [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": a token is of letters, digits and marks on one line"));
  }
  return absl::OkStatus();
}

// Sets `token`; to an empty text when none was given.
absl::Status ReadToken(const McpOptions& options, std::string& token) {
  if (options.token_file) {
    absl::StatusOr<FileContent> file =
        ReadInput(*options.token_file, kMaxTokenBytes);
    if (!file.ok()) return file.status();
    token = std::string(absl::StripAsciiWhitespace(file->bytes));
    return CheckToken(
        absl::StrCat("--token-file ", VisibleText(*options.token_file)), token);
  }
  // Nobody changes the environment.
  const char* variable =
      std::getenv(kTokenVariable);  // NOLINT(concurrency-mt-unsafe)
  token = std::string(
      absl::StripAsciiWhitespace(variable == nullptr ? "" : variable));
  return token.empty() ? absl::OkStatus()
                       : CheckToken(absl::StrCat("$", kTokenVariable), token);
}

absl::Status ServeMcpOverHttp(const McpProtocol& protocol,
                              const McpOptions& options,
                              const StopSignal& stop) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(*options.http);
  if (!address.ok()) return address.status();
  std::string token;
  if (absl::Status taken = ReadToken(options, token); !taken.ok()) {
    return taken;
  }
  const bool guarded = !token.empty();
  if (!address->loopback && !guarded) {
    return absl::InvalidArgumentError(
        absl::StrCat("--http ", *options.http,
                     " can be reached from other machines and "
                     "needs a token: give --token-file FILE or $",
                     kTokenVariable));
  }
  const McpEndpoint endpoint(
      protocol, {.token = std::move(token),
                 .loopback_hosts_only = address->loopback && !guarded});
  return ServeHttp(*address, HttpBounds{}, endpoint, stop,
                   [](const std::string& actual) {
                     WriteAll(STDERR_FILENO,
                              absl::StrCat("sandglass: serving MCP at http://",
                                           actual, "/mcp\n"));
                   });
}

}  // namespace

int McpCommand(const Endpoint& endpoint, const McpOptions& options) {
  // With a wrong address every call would fail.
  const absl::StatusOr<Address> parsed = ParseAddress(endpoint.address);
  if (!parsed.ok()) return Fail(parsed.status());
  const StopSignal stop;
  std::atomic<bool> told{false};
  absl::StatusOr<std::unique_ptr<SignalListener>> signals =
      SignalListener::Start({SIGINT, SIGTERM, SIGHUP}, [&](int number) {
        // A user who asks twice doesn't want to wait for running calls.
        if (told.exchange(true)) _exit(kExitSignalBase + number);
        stop.Set();
      });
  if (!signals.ok()) return Fail(signals.status());
  DaemonLink link(endpoint);
  const McpProtocol protocol(DaemonTools(link, options.profile));
  if (options.http) {
    const absl::Status status = ServeMcpOverHttp(protocol, options, stop);
    return status.ok() ? kExitOk : Fail(status);
  }
  ServeLines(protocol, STDIN_FILENO, STDOUT_FILENO, stop);
  return kExitOk;
}

}  // namespace sandglass::client
