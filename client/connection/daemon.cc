#include "client/connection/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/json_text.h"
#include "client/base/terminal_filter.h"
#include "client/connection/address.h"
#include "client/connection/connect.h"
#include "client/connection/error_text.h"
#include "client/connection/traceparent.h"

namespace sandglass::client {

absl::StatusOr<Daemon> OpenDaemon(const std::string& address) {
  absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<UniqueFd> connection = Connect(*parsed);
  if (!connection.ok()) return connection.status();
  UniqueFd duplicate(fcntl(connection->get(), F_DUPFD_CLOEXEC, 0));
  const std::shared_ptr<grpc::Channel> channel =
      MakeChannel(*std::move(connection), EnvironmentTraceparent());
  return Daemon{address,
                v1::SandboxService::NewStub(channel),
                v1::SessionService::NewStub(channel),
                v1::FileService::NewStub(channel),
                v1::ExecService::NewStub(channel),
                v1::PolicyService::NewStub(channel),
                v1::LayerService::NewStub(channel),
                v1::OperatorService::NewStub(channel),
                std::move(duplicate)};
}

bool IsConnected(const Daemon& daemon) {
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
