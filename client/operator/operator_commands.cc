#include "client/operator/operator_commands.h"

#include <unistd.h>

#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/audit/audit_files.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/utf8_check.h"
#include "client/connection/daemon.h"
#include "client/operator/status_text.h"
#include "client/operator/top_command.h"
#include "client/operator/usage_audit.h"
#include "client/operator/usage_text.h"
#include "client/terminal/raw_terminal.h"

namespace sandglass::client {
namespace {

int PrintUsage(const v1::GetUsageResponse& usage, const UsageOptions& options) {
  return options.json ? PrintJson(usage)
                      : PrintText(UsageText(usage, options.by));
}

int UsageOfAudit(const UsageOptions& options) {
  const absl::StatusOr<std::vector<std::string>> files =
      AuditFilesOf({*options.audit});
  if (!files.ok()) return Fail(files.status());
  if (files->empty()) {
    return Fail(absl::NotFoundError(
        absl::StrCat("there is no file of an audit log in '",
                     VisibleText(*options.audit), "'")));
  }
  UsageOfLines sums(options);
  policy::AuditVerifier verifier(
      std::nullopt,
      [&](absl::string_view line, const policy::AuditLine& parts) {
        sums.Add(line, parts);
      });
  const absl::Status read = ReadAuditFiles(*files, verifier);
  if (!read.ok()) return Fail(read);
  const int printed = PrintUsage(sums.Finish(), options);
  if (printed != kExitOk) return printed;
  if (sums.unreadable() > 0) {
    Fail(absl::DataLossError(absl::StrCat(
        sums.unreadable(), " lines are no JSON and are not counted")));
  }
  if (verifier.Finish().tampering == 0) return kExitOk;
  Fail(absl::DataLossError(
      "the log is not as it was written, or something is missing; sandglass "
      "audit verify says what"));
  return kExitTampered;
}

struct Dispatch {
  const Endpoint& endpoint;

  int operator()(const StatusOptions& options) const {
    absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
    if (!daemon.ok()) return Fail(daemon.status());
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::GetStatusResponse status;
    const grpc::Status called =
        daemon->operators->GetStatus(&context, v1::GetStatusRequest(), &status);
    if (!called.ok()) return FailCall(called, *daemon);
    // For a pipe, the reader breaks the lines.
    const size_t width = SizeOf(STDOUT_FILENO).columns();
    const int printed =
        options.json ? PrintJson(status) : PrintText(StatusText(status, width));
    if (printed != kExitOk) return printed;
    return status.ready() && !status.draining() ? kExitOk : kExitNotReady;
  }

  int operator()(const TopOptions& options) const {
    return TopCommand(endpoint, options);
  }

  int operator()(const UsageOptions& options) const {
    if (options.audit) return UsageOfAudit(options);
    const absl::Status checked = CheckUtf8("--caller", options.caller);
    if (!checked.ok()) return Fail(checked);
    absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
    if (!daemon.ok()) return Fail(daemon.status());
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::GetUsageRequest request;
    request.set_caller(options.caller);
    v1::GetUsageResponse usage;
    const grpc::Status called =
        daemon->operators->GetUsage(&context, request, &usage);
    return called.ok() ? PrintUsage(usage, options) : FailCall(called, *daemon);
  }
};

}  // namespace

int OperatorCommand(const Endpoint& endpoint, const OperatorOptions& options) {
  return std::visit(Dispatch{endpoint}, options);
}

}  // namespace sandglass::client
