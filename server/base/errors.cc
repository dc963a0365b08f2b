#include "server/base/errors.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "policy/text/units.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using make_error::Attach;
using make_error::Code;
using make_error::CopyQuota;
using make_error::Make;
using make_error::MakeRetryable;
using make_error::MakeWith;
using make_error::Seconds;

// Part of the space that trailing metadata has: the details go there, 4/3 of
// their size in base64, beside the message, which server/edge/grpc_status.cc
// bounds.
constexpr size_t kMaxViolationBytes = 2560;
constexpr absl::Duration kRetryAfterFailure = absl::Seconds(1);
constexpr absl::Duration kRetryAfterShortage = absl::Seconds(5);

}  // namespace

absl::Status InvalidRequest(
    const std::vector<policy::FieldViolation>& violations) {
  google::rpc::BadRequest bad_request;
  size_t bytes = 0;
  size_t listed = 0;
  for (const policy::FieldViolation& violation : violations) {
    const std::string field = Shorten(violation.field, 200);
    const std::string description = Shorten(violation.description, 400);
    bytes += field.size() + description.size();
    if (listed == kMaxViolations || bytes > kMaxViolationBytes) break;
    ++listed;
    auto* out = bad_request.add_field_violations();
    out->set_field(field);
    out->set_description(description);
  }
  std::string message = violations.empty()
                            ? std::string("the request is not valid")
                            : absl::StrCat(violations.front().field, ": ",
                                           violations.front().description);
  if (violations.size() > 1) {
    absl::StrAppend(&message, " (and ", violations.size() - 1, " more)");
  }
  absl::Status status =
      Make(Code::kInvalidArgument, "INVALID_REQUEST", message);
  Attach(bad_request, status);
  return status;
}

absl::Status MalformedMessage(const std::string& type) {
  return Make(Code::kInvalidArgument, "MALFORMED_MESSAGE",
              "the message is not a valid protobuf of type ", type,
              "; was it cut short or made from another .proto?");
}

absl::Status MessageTooLarge(uint64_t bytes, uint64_t max) {
  return Make(Code::kResourceExhausted, "MESSAGE_TOO_LARGE", "the request has ",
              bytes, " bytes and may have ", max,
              "; send large files to a session in parts, or have "
              "max_message_bytes raised");
}

absl::Status RequestBytesFull(uint64_t bytes) {
  return MakeRetryable(Code::kResourceExhausted, "REQUEST_BYTES_FULL",
                       kRetryAfterFailure, "there is no room for a request of ",
                       bytes,
                       " bytes beside those of the same caller that are on "
                       "their way; send fewer large ones at a time");
}

absl::Status AnswerBytesFull(const std::string& whose, uint64_t bytes,
                             uint64_t held, std::string_view advice) {
  return Make(Code::kResourceExhausted, "ANSWER_BYTES_FULL",
              "there is no room for an answer of ", bytes, " bytes beside ",
              held, " bytes of answers that ", whose, " did not read yet; ",
              AbslView(advice));
}

absl::Status IsolationBroken() {
  return Make(Code::kUnavailable, "ISOLATION_BROKEN",
              "a program that tried to get out of its jail did, so nothing is "
              "run; `sandglass status` says what it did");
}

absl::Status JailsOfProfileEscaped(const std::string& profile) {
  return Make(Code::kUnavailable, "ISOLATION_BROKEN",
              "a program that tried to get out of a jail of the profile \"",
              profile,
              "\" did, and the profile was replaced since; delete the session, "
              "whose jail is such a one, and create another");
}

absl::Status LanguageUnavailable(const std::string& why) {
  return Make(Code::kFailedPrecondition, "LANGUAGE_UNAVAILABLE", why);
}

absl::Status LanguagePreparing(const std::string& name,
                               absl::Duration retry_after) {
  return MakeRetryable(
      Code::kUnavailable, "LANGUAGE_PREPARING", retry_after, name,
      " is being prepared for its first use; try again in a few seconds");
}

absl::Status NeverFits(uint64_t wanted_bytes, uint64_t budget_bytes) {
  return Make(Code::kFailedPrecondition, "MEMORY_BUDGET_TOO_SMALL",
              "the run needs ", wanted_bytes,
              " bytes of memory; the server's whole budget is ", budget_bytes,
              " bytes. Ask for less in limits.memory_bytes");
}

absl::Status QueueFull(uint64_t queued, absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "QUEUE_FULL", retry_after,
                       "the queue is full (", queued,
                       " runs wait); try again later");
}

absl::Status QueueShareFull(const std::string& caller, uint64_t queued,
                            uint64_t all, absl::Duration retry_after) {
  return MakeRetryable(
      Code::kResourceExhausted, "QUEUE_SHARE_FULL", retry_after, caller,
      " already has ", queued, " of the ", all,
      " runs in the queue, which is its share; what is left is for callers of "
      "which fewer wait. Try again when some of its runs have started");
}

absl::Status QueueBytesFull(uint64_t limit_bytes, absl::Duration retry_after) {
  return MakeRetryable(
      Code::kResourceExhausted, "QUEUE_BYTES_FULL", retry_after,
      "the requests in the queue hold all of the ", limit_bytes,
      " bytes that the server keeps for them; try again later");
}

absl::Status QueueBytesShareFull(const std::string& caller, uint64_t bytes,
                                 uint64_t limit_bytes,
                                 absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "QUEUE_BYTES_FULL",
                       retry_after, "the requests of ", caller,
                       " in the queue hold ", bytes, " of the ", limit_bytes,
                       " bytes that the server keeps for all, which is its "
                       "share; try again when some of its runs have started");
}

absl::Status DeadlineUnreachable(absl::Duration left, absl::Duration needed,
                                 absl::Duration retry_after) {
  return MakeRetryable(
      Code::kResourceExhausted, "DEADLINE_UNREACHABLE", retry_after,
      "the call's deadline leaves ", Seconds(left),
      ", and behind the caller's other runs in the queue this one would take ",
      Seconds(needed), "; the program was not started");
}

absl::Status QueueTimeout(absl::Duration waited, absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "QUEUE_TIMEOUT", retry_after,
                       "the run waited ", Seconds(waited),
                       " and no room came free; try again later");
}

absl::Status DeadlineTooShort(absl::Duration left, absl::Duration needed) {
  return Make(Code::kDeadlineExceeded, "DEADLINE_TOO_SHORT",
              "the call's deadline leaves ", Seconds(left),
              ", and the server needs ", Seconds(needed),
              " to run a program and answer; the program was not started");
}

absl::Status RequestIdReused(const std::string& request_id) {
  return Make(
      Code::kAlreadyExists, "REQUEST_ID_REUSED", "request_id ",
      Quoted(request_id),
      " was used for another request a short while ago; choose a new one");
}

absl::Status RunNotFound(const std::string& run_id) {
  return Make(Code::kNotFound, "RUN_NOT_FOUND", "there is no run ",
              Quoted(run_id), " of yours");
}

absl::Status SessionNotFound(const std::string& session_id) {
  return Make(Code::kNotFound, "SESSION_NOT_FOUND", "there is no session ",
              Quoted(session_id), " of yours");
}

absl::Status SessionOver(const std::string& reason,
                         const std::string& message) {
  return Make(Code::kNotFound, reason, "the session has ended: ", message,
              "; create another");
}

absl::Status TooManySessions(const std::string& whose, uint64_t max) {
  return Make(
      Code::kResourceExhausted, "TOO_MANY_SESSIONS", whose, " at most ", max,
      " sessions at once. One that is not needed can be deleted, one that "
      "is made with \"evictable\" gives way by itself; the operator's "
      "\"sessions.max\" and \"sessions.max_per_caller\" may allow "
      "more");
}

absl::Status SessionMemoryFull(const std::string& caller, uint64_t wanted,
                               uint64_t has, uint64_t all, uint64_t max) {
  return Make(Code::kResourceExhausted, "SESSION_MEMORY_FULL",
              "the memory limits of sessions may add up to ",
              policy::FormatBytes(max),
              " (\"sessions.memory\"), the last "
              "quarter of it for callers that have less; they add up to ",
              policy::FormatBytes(all), ", those of ", caller, " to ",
              policy::FormatBytes(has), ", and ", policy::FormatBytes(wanted),
              " more are asked for. Ask for less limits.memory_bytes, or "
              "delete a session");
}

absl::Status MachineLacksMemory() {
  return MakeRetryable(
      Code::kResourceExhausted, "MACHINE_LACKS_MEMORY", kRetryAfterShortage,
      "the machine has too little memory left for another session");
}

absl::Status SessionShareFull(const std::string& caller, uint64_t has,
                              uint64_t all, uint64_t max) {
  return Make(Code::kResourceExhausted, "TOO_MANY_SESSIONS", caller, " has ",
              has, " of the server's ", all,
              " sessions, which is its share: the server has at most ", max,
              ", and beyond them some for callers that have fewer. One that is "
              "not needed can be deleted, one that is made with \"evictable\" "
              "gives way by itself");
}

absl::Status TooManyContexts(size_t max) {
  return Make(Code::kResourceExhausted, "TOO_MANY_CONTEXTS",
              "a session has at most ", max,
              " contexts; use one that is there");
}

absl::Status SessionLineFull(const std::string& session_id, size_t waiting) {
  return MakeRetryable(Code::kResourceExhausted, "SESSION_LINE_FULL",
                       kRetryAfterFailure, "in session ", session_id, " ",
                       waiting,
                       " runs of this context wait already; runs of one "
                       "context go one after another");
}

absl::Status SessionBusy(const std::string& session_id,
                         const std::string& what) {
  return Make(Code::kFailedPrecondition, "SESSION_BUSY", what,
              " goes on in session ", session_id,
              "; cancel it, or wait for it");
}

absl::Status SessionUnusable(const std::string& session_id,
                             const std::string& why) {
  return Make(Code::kFailedPrecondition, "SESSION_UNUSABLE", "session ",
              session_id,
              " was made under a policy that no longer holds: ", why,
              "; its files are kept until it expires");
}

absl::Status FilesNotSaved(const std::string& whose,
                           const absl::Status& cause) {
  const std::string message = absl::StrCat(
      "the files of ", whose, " could not be saved: ", cause.message());
  switch (cause.code()) {
    case Code::kResourceExhausted: {
      absl::Status full = Make(cause.code(), "DURABLE_SPACE_FULL", message);
      CopyQuota(cause, full);
      return full;
    }
    case Code::kDataLoss:
      return Make(cause.code(), "SESSION_FILES_DAMAGED", message);
    default:
      return MakeRetryable(Code::kUnavailable, "FILES_NOT_SAVED",
                           kRetryAfterFailure, message);
  }
}

absl::Status ForkSpaceFull(const std::string& taken,
                           absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "FORK_SPACE_FULL", retry_after,
                       "of the memory for files of forks that were not used "
                       "yet (sessions.fork_bytes) ",
                       taken, "; use or delete some of them first");
}

absl::Status TooManyCalls(const std::string& what, absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "TOO_MANY_CALLS", retry_after,
                       "there are too many calls already: ", what,
                       "; try again when some of them have been answered");
}

absl::Status PortClosed(const std::string& session_id, uint32_t port) {
  return MakeRetryable(Code::kUnavailable, "PORT_CLOSED", kRetryAfterFailure,
                       "no program listens on port ", port, " in session ",
                       session_id, "; start one there, or wait for it");
}

absl::Status NoLinks() {
  return Make(
      Code::kFailedPrecondition, "NO_LINKS",
      "links to ports are made by a gateway whose configuration has "
      "ports.url and ports.link_key_file; use sandglass session forward");
}

absl::Status ConnectionReset(const std::string& why) {
  return Make(Code::kAborted, "CONNECTION_RESET",
              "the connection to the program broke: ", why);
}

absl::Status FileFailed(absl::StatusCode code, const std::string& reason,
                        const std::string& message) {
  if (code == Code::kUnavailable) {
    return MakeRetryable(code, reason, kRetryAfterFailure, message);
  }
  return Make(code, reason, message);
}

absl::Status ExecNotFound(const std::string& session_id,
                          const std::string& exec_id) {
  return Make(Code::kNotFound, "EXEC_NOT_FOUND", "session ", session_id,
              " has no command ", Quoted(exec_id),
              "; those that ended long ago are forgotten");
}

absl::Status CommandsDenied(const std::string& profile) {
  return MakeWith(
      {{"profile", profile}, {"key", "commands"}}, Code::kPermissionDenied,
      "COMMANDS_DENIED",
      absl::StrCat("profile ", Quoted(profile),
                   " lets no commands be started in its sessions, since rules "
                   "don't see them. Run code instead, or have the operator say "
                   "\"commands\": \"allow\" in the profile"));
}

absl::Status LibrariesDenied(const std::string& profile,
                             const std::string& why) {
  return MakeWith({{"profile", profile}}, Code::kPermissionDenied,
                  "LIBRARIES_DENIED", why);
}

absl::Status LibrariesUnavailable(const std::string& why) {
  return Make(Code::kFailedPrecondition, "LIBRARIES_UNAVAILABLE", why);
}

absl::Status LibrariesNotInstalled(const absl::Status& cause) {
  // If the libraries can't be put into a layer, the request's form isn't at
  // fault.
  return Make(
      absl::IsInvalidArgument(cause) ? Code::kFailedPrecondition : cause.code(),
      absl::IsResourceExhausted(cause) ? "LIBRARIES_TOO_LARGE"
                                       : "LIBRARIES_NOT_INSTALLED",
      cause.message());
}

absl::Status LayerNotFound(const std::string& layer_id) {
  return Make(Code::kNotFound, "LAYER_NOT_FOUND", "there is no layer ",
              Quoted(layer_id));
}

absl::Status LayerInUse(const std::string& layer_id) {
  return Make(Code::kFailedPrecondition, "LAYER_IN_USE", "layer ",
              Quoted(layer_id),
              " is in use; end the runs and sessions that have it");
}

absl::Status ExecIdReused(const std::string& exec_id) {
  return Make(Code::kAlreadyExists, "EXEC_ID_REUSED", "exec_id ",
              Quoted(exec_id),
              " was used for another command; take another id");
}

absl::Status TooManyExecs(const std::string& what, absl::Duration retry_after) {
  return MakeRetryable(Code::kResourceExhausted, "TOO_MANY_EXECS", retry_after,
                       what, "; stop some, or try again when they have ended");
}

absl::Status ExecNotStarted(absl::StatusCode code, const std::string& reason,
                            const std::string& message) {
  return Make(code, reason, message);
}

absl::Status SessionWithoutKernel(const std::string& session_id) {
  return Make(Code::kFailedPrecondition, "SESSION_WITHOUT_KERNEL", "session ",
              session_id,
              " was created without a language, so each run has to name one");
}

absl::Status ApprovalNotFound(const std::string& approval_id) {
  return Make(
      Code::kNotFound, "APPROVAL_NOT_FOUND", "there is no approval ",
      Quoted(approval_id),
      "; they end with the daemon, and some time after they have expired");
}

absl::Status ApprovalUnusable(const std::string& reason,
                              const std::string& message) {
  return Make(Code::kFailedPrecondition, reason, message);
}

absl::Status ApprovalDenied(const std::string& message) {
  return Make(Code::kPermissionDenied, "APPROVAL_DENIED", message);
}

absl::Status ApprovalAnswered(const std::string& approval_id,
                              const std::string& state) {
  return Make(Code::kFailedPrecondition, "APPROVAL_ANSWERED", "approval ",
              approval_id, " ", state, " already");
}

absl::Status NotAnApprover(const std::string& message) {
  return Make(Code::kPermissionDenied, "NOT_AN_APPROVER", message);
}

absl::Status TooManyApprovals(const std::string& caller, uint64_t pending,
                              uint64_t of_caller) {
  return MakeRetryable(
      Code::kResourceExhausted, "TOO_MANY_APPROVALS", kRetryAfterFailure,
      pending, " runs wait for an approval, ", of_caller, " of them of ",
      caller, "; it can have no more until some of its own are answered");
}

absl::Status AuditUnwritable(const std::string& directory,
                             const std::string& why) {
  return MakeRetryable(Code::kUnavailable, "AUDIT_UNWRITABLE",
                       kRetryAfterFailure, "the audit log in ",
                       Quoted(directory, 256),
                       " can't be written, and without it no program is run "
                       "and no result handed out: ",
                       why, ". The operator must look after it");
}

absl::Status ShuttingDown() {
  return MakeRetryable(
      Code::kUnavailable, "SHUTTING_DOWN", kRetryAfterFailure,
      "the server is shutting down; the program was not started");
}

absl::Status UnknownCaller() {
  return Make(Code::kUnauthenticated, "UNKNOWN_CALLER",
              "the server can't tell who is at the other end of this "
              "connection; connect again");
}

absl::Status CallerGone() {
  return Make(Code::kCancelled, "CANCELLED",
              "the call was cancelled or its deadline passed");
}

absl::Status RunFailed(const absl::Status& cause) {
  // Some errors carry marks of the sandbox, such as the one that
  // sandbox::IsWantOfMemory reads; those aren't reasons.
  if (!ErrorReason(cause).empty()) return cause;
  const absl::string_view message = cause.message();
  switch (cause.code()) {
    case Code::kResourceExhausted:
      return MakeRetryable(cause.code(), "NO_JAIL_SLOT", kRetryAfterFailure,
                           message);
    case Code::kUnavailable:
    case Code::kCancelled:  // not by anybody who may cancel it
      return MakeRetryable(Code::kUnavailable, "SANDBOX_UNAVAILABLE",
                           kRetryAfterFailure, message);
    case Code::kDataLoss:
      return Make(cause.code(), "SESSION_FILES_DAMAGED", message);
    default:
      return Make(cause.code(), "JAIL_FAILED", message);
  }
}

std::string ErrorReason(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const absl::optional<absl::Cord> payload =
      status.GetPayload(absl::StrCat(kErrorTypePrefix, info.GetTypeName()));
  if (!payload || !info.ParseFromString(std::string(*payload))) return "";
  return info.reason();
}

}  // namespace sandglass::server
