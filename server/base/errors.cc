#include "server/base/errors.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/base/make_error.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using errors::Attach;
using errors::kTypePrefix;
using errors::Make;
using errors::Shorten;

// Part of the space that trailing metadata has: the details go there, 4/3 of
// their size in base64, beside the message, which server/rpc/grpc_status.cc
// bounds.
constexpr size_t kMaxViolationBytes = 2560;
constexpr absl::Duration kRetryAfterFailure = absl::Seconds(1);

std::string Seconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(1)));
}

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
      Make(absl::StatusCode::kInvalidArgument, "INVALID_REQUEST", message);
  Attach(bad_request, status);
  return status;
}

absl::Status MalformedMessage(const std::string& type) {
  return Make(absl::StatusCode::kInvalidArgument, "MALFORMED_MESSAGE",
              absl::StrCat("the message is not a valid protobuf of type ", type,
                           "; was it cut short or made from another .proto?"));
}

absl::Status MessageTooLarge(uint64_t bytes, uint64_t max) {
  return Make(
      absl::StatusCode::kResourceExhausted, "MESSAGE_TOO_LARGE",
      absl::StrCat("the request has ", bytes, " bytes and may have ", max,
                   "; send large files to a session in parts, or "
                   "have max_message_bytes raised"));
}

absl::Status RequestBytesFull(uint64_t bytes) {
  return Make(absl::StatusCode::kResourceExhausted, "REQUEST_BYTES_FULL",
              absl::StrCat("there is no room for a request of ", bytes,
                           " bytes beside those of the same caller that are on "
                           "their way; send fewer large ones at a time"),
              kRetryAfterFailure);
}

absl::Status AnswerBytesFull(const std::string& whose, uint64_t bytes,
                             uint64_t held, std::string_view advice) {
  return Make(absl::StatusCode::kResourceExhausted, "ANSWER_BYTES_FULL",
              absl::StrCat("there is no room for an answer of ", bytes,
                           " bytes beside ", held, " bytes of answers that ",
                           whose, " did not read yet; ", AbslView(advice)));
}

absl::Status IsolationBroken() {
  return Make(absl::StatusCode::kUnavailable, "ISOLATION_BROKEN",
              "a program that tried to get out of its jail did, so nothing is "
              "run; `sandglass status` says what it did");
}

absl::Status JailsOfProfileEscaped(const std::string& profile) {
  return Make(absl::StatusCode::kUnavailable, "ISOLATION_BROKEN",
              absl::StrCat("a program that tried to get out of a jail of the "
                           "profile \"",
                           profile,
                           "\" did, and the profile was replaced since; delete "
                           "the session, whose jail is such a one, and create "
                           "another"));
}

absl::Status LanguageUnavailable(const std::string& why) {
  return Make(absl::StatusCode::kFailedPrecondition, "LANGUAGE_UNAVAILABLE",
              why);
}

absl::Status LanguagePreparing(const std::string& name,
                               absl::Duration retry_after) {
  return Make(absl::StatusCode::kUnavailable, "LANGUAGE_PREPARING",
              absl::StrCat(name,
                           " is being prepared for its first use; try again "
                           "in a few seconds"),
              retry_after);
}

absl::Status NeverFits(uint64_t wanted_bytes, uint64_t budget_bytes) {
  return Make(absl::StatusCode::kFailedPrecondition, "MEMORY_BUDGET_TOO_SMALL",
              absl::StrCat("the run needs ", wanted_bytes,
                           " bytes of memory; the server's whole budget is ",
                           budget_bytes,
                           " bytes. Ask for less in limits.memory_bytes"));
}

absl::Status QueueFull(uint64_t queued, absl::Duration retry_after) {
  return Make(absl::StatusCode::kResourceExhausted, "QUEUE_FULL",
              absl::StrCat("the queue is full (", queued,
                           " runs wait); try again later"),
              retry_after);
}

absl::Status QueueShareFull(const std::string& caller, uint64_t queued,
                            uint64_t all, absl::Duration retry_after) {
  return Make(absl::StatusCode::kResourceExhausted, "QUEUE_SHARE_FULL",
              absl::StrCat(caller, " already has ", queued, " of the ", all,
                           " runs in the queue, which is its share; what is "
                           "left is for callers of which fewer wait. Try again "
                           "when some of its runs have started"),
              retry_after);
}

absl::Status QueueBytesFull(uint64_t limit_bytes, absl::Duration retry_after) {
  return Make(
      absl::StatusCode::kResourceExhausted, "QUEUE_BYTES_FULL",
      absl::StrCat("the requests in the queue hold all of the ", limit_bytes,
                   " bytes that the server keeps for them; try again "
                   "later"),
      retry_after);
}

absl::Status QueueBytesShareFull(const std::string& caller, uint64_t bytes,
                                 uint64_t limit_bytes,
                                 absl::Duration retry_after) {
  return Make(
      absl::StatusCode::kResourceExhausted, "QUEUE_BYTES_FULL",
      absl::StrCat("the requests of ", caller, " in the queue hold ", bytes,
                   " of the ", limit_bytes,
                   " bytes that the server keeps for all, which is its share; "
                   "try again when some of its runs have started"),
      retry_after);
}

absl::Status QueueTimeout(absl::Duration waited, absl::Duration retry_after) {
  return Make(absl::StatusCode::kResourceExhausted, "QUEUE_TIMEOUT",
              absl::StrCat("the run waited ", Seconds(waited),
                           " and no room came free; try again later"),
              retry_after);
}

absl::Status DeadlineTooShort(absl::Duration left, absl::Duration needed) {
  return Make(absl::StatusCode::kDeadlineExceeded, "DEADLINE_TOO_SHORT",
              absl::StrCat("the call's deadline leaves ", Seconds(left),
                           ", and the server needs ", Seconds(needed),
                           " to run a program and answer; the program was not "
                           "started"));
}

absl::Status RequestIdReused(const std::string& request_id) {
  return Make(absl::StatusCode::kAlreadyExists, "REQUEST_ID_REUSED",
              absl::StrCat("request_id ", Quoted(request_id),
                           " was used for another request a short while ago; "
                           "choose a new one"));
}

absl::Status RunNotFound(const std::string& run_id) {
  return Make(absl::StatusCode::kNotFound, "RUN_NOT_FOUND",
              absl::StrCat("there is no run ", Quoted(run_id),
                           " of yours; ListRuns shows those there are"));
}

absl::Status SessionNotFound(const std::string& session_id) {
  return Make(absl::StatusCode::kNotFound, "SESSION_NOT_FOUND",
              absl::StrCat("there is no session ", Quoted(session_id),
                           " of yours; ListSessions shows those there are"));
}

absl::Status SessionOver(const std::string& reason,
                         const std::string& message) {
  return Make(
      absl::StatusCode::kNotFound, reason,
      absl::StrCat("the session has ended: ", message, "; create another"));
}

absl::Status TooManySessions(const std::string& whose, uint64_t max) {
  return Make(absl::StatusCode::kResourceExhausted, "TOO_MANY_SESSIONS",
              absl::StrCat(whose, " at most ", max,
                           " sessions at once; delete one that is not needed"));
}

absl::Status SessionShareFull(const std::string& caller, uint64_t has,
                              uint64_t all, uint64_t max) {
  return Make(absl::StatusCode::kResourceExhausted, "TOO_MANY_SESSIONS",
              absl::StrCat(caller, " has ", has, " of the server's ", all,
                           " sessions, which is its share: the server has at "
                           "most ",
                           max,
                           ", and beyond them some for callers that have "
                           "fewer. Delete one that is not needed"));
}

absl::Status TooManyContexts(size_t max) {
  return Make(absl::StatusCode::kResourceExhausted, "TOO_MANY_CONTEXTS",
              absl::StrCat("a session has at most ", max,
                           " contexts; use one that is there"));
}

absl::Status SessionLineFull(const std::string& session_id, size_t waiting) {
  return Make(absl::StatusCode::kResourceExhausted, "SESSION_LINE_FULL",
              absl::StrCat("in session ", session_id, " ", waiting,
                           " runs of this context wait already; runs of one "
                           "context go one after another"),
              kRetryAfterFailure);
}

absl::Status SessionBusy(const std::string& session_id,
                         const std::string& what) {
  return Make(absl::StatusCode::kFailedPrecondition, "SESSION_BUSY",
              absl::StrCat(what, " goes on in session ", session_id,
                           "; cancel it, or wait for it"));
}

absl::Status SessionUnusable(const std::string& session_id,
                             const std::string& why) {
  return Make(absl::StatusCode::kFailedPrecondition, "SESSION_UNUSABLE",
              absl::StrCat("session ", session_id,
                           " was made under a policy that no longer holds: ",
                           why, "; its files are kept until it expires"));
}

absl::Status FilesNotSaved(const std::string& whose,
                           const absl::Status& cause) {
  const std::string message = absl::StrCat(
      "the files of ", whose, " could not be saved: ", cause.message());
  switch (cause.code()) {
    case absl::StatusCode::kResourceExhausted:
      return Make(cause.code(), "DURABLE_SPACE_FULL", message);
    case absl::StatusCode::kDataLoss:
      return Make(cause.code(), "SESSION_FILES_DAMAGED", message);
    default:
      return Make(absl::StatusCode::kUnavailable, "FILES_NOT_SAVED", message,
                  kRetryAfterFailure);
  }
}

absl::Status ForkSpaceFull(const std::string& taken,
                           absl::Duration retry_after) {
  return Make(absl::StatusCode::kResourceExhausted, "FORK_SPACE_FULL",
              absl::StrCat("of the memory for files of forks that were not "
                           "used yet (sessions.fork_bytes) ",
                           taken, "; use or delete some of them first"),
              retry_after);
}

absl::Status TooManyCalls(const std::string& what, absl::Duration retry_after) {
  return Make(absl::StatusCode::kResourceExhausted, "TOO_MANY_CALLS",
              absl::StrCat("there are too many calls already: ", what,
                           "; try again when some of them have been answered"),
              retry_after);
}

absl::Status FileFailed(absl::StatusCode code, const std::string& reason,
                        const std::string& message) {
  if (code == absl::StatusCode::kUnavailable) {
    return Make(code, reason, message, kRetryAfterFailure);
  }
  return Make(code, reason, message);
}

absl::Status ExecNotFound(const std::string& session_id,
                          const std::string& exec_id) {
  return Make(
      absl::StatusCode::kNotFound, "EXEC_NOT_FOUND",
      absl::StrCat("session ", session_id, " has no command ", Quoted(exec_id),
                   "; those that ended long ago are forgotten"));
}

absl::Status CommandsDenied(const std::string& profile) {
  return Make(absl::StatusCode::kPermissionDenied, "COMMANDS_DENIED",
              absl::StrCat("profile ", Quoted(profile),
                           " lets no commands be started in its sessions, "
                           "since rules don't see them. Run code instead, or "
                           "have the operator say \"commands\": \"allow\" in "
                           "the profile"),
              std::nullopt, {{"profile", profile}, {"key", "commands"}});
}

absl::Status LibrariesDenied(const std::string& profile,
                             const std::string& why) {
  return Make(absl::StatusCode::kPermissionDenied, "LIBRARIES_DENIED", why,
              std::nullopt, {{"profile", profile}});
}

absl::Status LibrariesUnavailable(const std::string& why) {
  return Make(absl::StatusCode::kFailedPrecondition, "LIBRARIES_UNAVAILABLE",
              why);
}

absl::Status LibrariesNotInstalled(const absl::Status& cause) {
  // If the libraries can't be put into a layer, the request's form isn't at
  // fault.
  return Make(absl::IsInvalidArgument(cause)
                  ? absl::StatusCode::kFailedPrecondition
                  : cause.code(),
              absl::IsResourceExhausted(cause) ? "LIBRARIES_TOO_LARGE"
                                               : "LIBRARIES_NOT_INSTALLED",
              std::string(cause.message()));
}

absl::Status LayerNotFound(const std::string& layer_id) {
  return Make(absl::StatusCode::kNotFound, "LAYER_NOT_FOUND",
              absl::StrCat("there is no layer ", Quoted(layer_id),
                           "; ListLayers has those that there are"));
}

absl::Status LayerInUse(const std::string& layer_id) {
  return Make(absl::StatusCode::kFailedPrecondition, "LAYER_IN_USE",
              absl::StrCat("layer ", Quoted(layer_id),
                           " is in use; end the runs and sessions that have "
                           "it"));
}

absl::Status ExecIdReused(const std::string& exec_id) {
  return Make(absl::StatusCode::kAlreadyExists, "EXEC_ID_REUSED",
              absl::StrCat("exec_id ", Quoted(exec_id),
                           " was used for another command; take another id"));
}

absl::Status TooManyExecs(const std::string& what, absl::Duration retry_after) {
  return Make(
      absl::StatusCode::kResourceExhausted, "TOO_MANY_EXECS",
      absl::StrCat(what, "; stop some, or try again when they have ended"),
      retry_after);
}

absl::Status ExecNotStarted(absl::StatusCode code, const std::string& reason,
                            const std::string& message) {
  return Make(code, reason, message);
}

absl::Status SessionWithoutKernel(const std::string& session_id) {
  return Make(absl::StatusCode::kFailedPrecondition, "SESSION_WITHOUT_KERNEL",
              absl::StrCat("session ", session_id,
                           " was created without a language, so each run has "
                           "to name one"));
}

absl::Status ApprovalNotFound(const std::string& approval_id) {
  return Make(absl::StatusCode::kNotFound, "APPROVAL_NOT_FOUND",
              absl::StrCat("there is no approval ", Quoted(approval_id),
                           "; they end with the daemon, and some time after "
                           "they have expired"));
}

absl::Status ApprovalUnusable(const std::string& reason,
                              const std::string& message) {
  return Make(absl::StatusCode::kFailedPrecondition, reason, message);
}

absl::Status ApprovalDenied(const std::string& message) {
  return Make(absl::StatusCode::kPermissionDenied, "APPROVAL_DENIED", message);
}

absl::Status ApprovalAnswered(const std::string& approval_id,
                              const std::string& state) {
  return Make(absl::StatusCode::kFailedPrecondition, "APPROVAL_ANSWERED",
              absl::StrCat("approval ", approval_id, " ", state, " already"));
}

absl::Status NotAnApprover(const std::string& message) {
  return Make(absl::StatusCode::kPermissionDenied, "NOT_AN_APPROVER", message);
}

absl::Status TooManyApprovals(const std::string& caller, uint64_t pending,
                              uint64_t of_caller) {
  return Make(absl::StatusCode::kResourceExhausted, "TOO_MANY_APPROVALS",
              absl::StrCat(pending, " runs wait for an approval, ", of_caller,
                           " of them of ", caller,
                           "; it can have no more until some of its own are "
                           "answered"),
              kRetryAfterFailure);
}

absl::Status AuditUnwritable(const std::string& directory,
                             const std::string& why) {
  return Make(absl::StatusCode::kUnavailable, "AUDIT_UNWRITABLE",
              absl::StrCat("the audit log in ", Quoted(directory, 256),
                           " can't be written, and without it no program is "
                           "run and no result handed out: ",
                           why, ". The operator must look after it"),
              kRetryAfterFailure);
}

absl::Status ShuttingDown() {
  return Make(absl::StatusCode::kUnavailable, "SHUTTING_DOWN",
              "the server is shutting down; the program was not started",
              kRetryAfterFailure);
}

absl::Status UnknownCaller() {
  return Make(absl::StatusCode::kUnauthenticated, "UNKNOWN_CALLER",
              "the server can't tell who is at the other end of this "
              "connection; connect again");
}

absl::Status CallerGone() {
  return Make(absl::StatusCode::kCancelled, "CANCELLED",
              "the call was cancelled or its deadline passed");
}

absl::Status RunFailed(const absl::Status& cause) {
  // Some errors carry marks of the sandbox, such as the one that
  // sandbox::IsWantOfMemory reads; those aren't reasons.
  if (!ErrorReason(cause).empty()) return cause;
  const std::string message(cause.message());
  switch (cause.code()) {
    case absl::StatusCode::kResourceExhausted:
      return Make(cause.code(), "NO_JAIL_SLOT", message, kRetryAfterFailure);
    case absl::StatusCode::kUnavailable:
      return Make(cause.code(), "SANDBOX_UNAVAILABLE", message,
                  kRetryAfterFailure);
    case absl::StatusCode::kCancelled:  // not by anybody who may cancel it
      return Make(absl::StatusCode::kUnavailable, "SANDBOX_UNAVAILABLE",
                  message, kRetryAfterFailure);
    case absl::StatusCode::kDataLoss:
      return Make(cause.code(), "SESSION_FILES_DAMAGED", message);
    default:
      return Make(cause.code(), "JAIL_FAILED", message);
  }
}

std::string ErrorReason(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const absl::optional<absl::Cord> payload =
      status.GetPayload(absl::StrCat(kTypePrefix, info.GetTypeName()));
  if (!payload || !info.ParseFromString(std::string(*payload))) return "";
  return info.reason();
}

}  // namespace sandglass::server
