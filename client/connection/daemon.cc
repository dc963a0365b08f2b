#include "client/connection/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/json_text.h"
#include "client/base/terminal_filter.h"
#include "client/connection/address.h"
#include "client/connection/call_metadata.h"
#include "client/connection/connect.h"
#include "client/connection/error_text.h"
#include "client/connection/tls.h"
#include "client/connection/token.h"
#include "client/connection/traceparent.h"

namespace sandglass::client {

namespace {

Daemon MakeDaemon(const Endpoint& endpoint,
                  const std::shared_ptr<grpc::Channel>& channel,
                  UniqueFd connection) {
  return Daemon{endpoint.address,
                endpoint,
                v1::SandboxService::NewStub(channel),
                v1::SessionService::NewStub(channel),
                v1::FileService::NewStub(channel),
                v1::ExecService::NewStub(channel),
                v1::PortService::NewStub(channel),
                v1::PolicyService::NewStub(channel),
                v1::LayerService::NewStub(channel),
                v1::OperatorService::NewStub(channel),
                v1::IdentityService::NewStub(channel),
                std::move(connection),
                channel};
}

// What every call of a process has.
std::vector<CallMetadata> CommonMetadata() {
  std::string traceparent = EnvironmentTraceparent();
  if (traceparent.empty()) return {};
  return {{kTraceparent, std::move(traceparent)}};
}

}  // namespace

absl::StatusOr<Daemon> OpenDaemon(const Endpoint& endpoint) {
  absl::StatusOr<Address> address = ParseAddress(endpoint.address);
  if (!address.ok()) return address.status();
  std::vector<CallMetadata> metadata = CommonMetadata();
  const bool is_unix = !address->unix_path.empty();
  // Who names an authority or has a certificate means TLS, here too.
  if (!is_unix && (!endpoint.ca.empty() || !endpoint.cert.empty())) {
    address->tls = true;
  }
  if (address->tls) {
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
        OpenTlsChannel(endpoint, *address, std::move(metadata));
    if (!channel.ok()) return channel.status();
    return MakeDaemon(endpoint, *channel, UniqueFd());
  }
  absl::StatusOr<std::string> token = TokenOf(endpoint);
  if (!token.ok()) return token.status();
  if (!token->empty()) {
    if (!is_unix) {
      return absl::FailedPreconditionError(absl::StrCat(
          "there is a token for ", VisibleText(endpoint.address),
          ", and a token is never sent without TLS; give the daemon's "
          "authority with --ca FILE so that TLS is spoken, use the daemon's "
          "unix socket, or leave out --token-file, SANDGLASS_TOKEN and "
          "SANDGLASS_TOKEN_FILE"));
    }
    metadata.push_back({kAuthorization, BearerOf(*token)});
  }
  absl::StatusOr<UniqueFd> connection = Connect(*address);
  if (!connection.ok()) return connection.status();
  UniqueFd duplicate(fcntl(connection->get(), F_DUPFD_CLOEXEC, 0));
  return MakeDaemon(endpoint,
                    MakeChannel(*std::move(connection), std::move(metadata)),
                    std::move(duplicate));
}

bool IsConnected(const Daemon& daemon) {
  if (daemon.reconnects()) {
    const grpc_connectivity_state state =
        daemon.channel->GetState(/*try_to_connect=*/false);
    return state != GRPC_CHANNEL_TRANSIENT_FAILURE &&
           state != GRPC_CHANNEL_SHUTDOWN;
  }
  // The channel doesn't know this: it only has the states of its calls.
  pollfd poller = {daemon.connection.get(), POLLRDHUP, 0};
  return poll(&poller, 1, 0) == 0;
}

void SetQuickDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(10));
}

// If writing to stderr fails, there is nobody to report that to.
int Fail(const absl::Status& status) {
  // It may quote words of a user, of a file, or of a program.
  TerminalFilter filter;
  std::string text = filter.Feed(status.message());
  absl::StrAppend(&text, filter.Finish());
  WriteAll(STDERR_FILENO, absl::StrCat("sandglass: ", text, "\n"));
  return kExitError;
}

int FailCall(const grpc::Status& status, const Daemon& daemon) {
  WriteAll(STDERR_FILENO, RpcErrorText(status, daemon.address));
  return kExitError;
}

int PrintText(const std::string& text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  return error == 0 ? kExitOk : OutputFailure(error);
}

int PrintJson(const google::protobuf::Message& message) {
  const absl::StatusOr<std::string> json = JsonText(message);
  return json.ok() ? PrintText(*json) : Fail(json.status());
}

int OutputFailure(int error) {
  if (error == EPIPE) return kExitBrokenPipe;
  return Fail(absl::ErrnoToStatus(error, "cannot write the output"));
}

}  // namespace sandglass::client
