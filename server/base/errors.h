#ifndef SANDGLASS_SERVER_BASE_ERRORS_H_
#define SANDGLASS_SERVER_BASE_ERRORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/profile/profile.h"

namespace sandglass::server {

// Every error that the API answers with, each made here. They carry their
// google.rpc details (ErrorInfo with domain "sandglass.dev" and the reason
// named below, BadRequest, RetryInfo) as payloads of the absl::Status;
// ToGrpcStatus of server/rpc sends them on. A program's fate is never one of
// these.

// Violations that one answer lists; the rest is counted.
inline constexpr size_t kMaxViolations = 32;

// INVALID_ARGUMENT, "INVALID_REQUEST". `violations` must not be empty.
absl::Status InvalidRequest(
    const std::vector<policy::FieldViolation>& violations);
// INVALID_ARGUMENT, "MALFORMED_MESSAGE": not a protobuf of that type.
absl::Status MalformedMessage(const std::string& type);
// RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE", in bytes.
absl::Status MessageTooLarge(uint64_t bytes, uint64_t most);
// RESOURCE_EXHAUSTED, "REQUEST_BYTES_FULL", with RetryInfo: the caller's share
// of memory for requests on their way in.
absl::Status RequestBytesFull(uint64_t bytes);
// RESOURCE_EXHAUSTED, "ANSWER_BYTES_FULL": `whose` answers that were not read
// yet hold `held` bytes, and there is no room for one more. `advice` says what
// has become of what the call did. Without RetryInfo: the call was carried out,
// and what repeats by itself would do it twice.
absl::Status AnswerBytesFull(const std::string& whose, uint64_t bytes,
                             uint64_t held, std::string_view advice);
// UNAVAILABLE, "ISOLATION_BROKEN": a program got where none may.
absl::Status IsolationBroken();
// The same of jails of a profile that was replaced, which only sessions have.
absl::Status JailsOfProfileEscaped(const std::string& profile);
// FAILED_PRECONDITION, "LANGUAGE_UNAVAILABLE".
absl::Status LanguageUnavailable(const std::string& why);
// UNAVAILABLE, "LANGUAGE_PREPARING", with RetryInfo: its first start goes on.
absl::Status LanguagePreparing(const std::string& name,
                               absl::Duration retry_after);
// FAILED_PRECONDITION, "MEMORY_BUDGET_TOO_SMALL": waiting would not help.
absl::Status NeverFits(uint64_t wanted_bytes, uint64_t budget_bytes);
// RESOURCE_EXHAUSTED, "QUEUE_FULL".
absl::Status QueueFull(uint64_t queued, absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_SHARE_FULL": this caller's part of the queue, in
// which `queued` of its runs wait, and `all` of everybody.
absl::Status QueueShareFull(const std::string& caller, uint64_t queued,
                            uint64_t all, absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_BYTES_FULL": waiting requests hold too much data.
absl::Status QueueBytesFull(uint64_t limit_bytes, absl::Duration retry_after);
// The same, of this caller's part of it.
absl::Status QueueBytesShareFull(const std::string& caller, uint64_t bytes,
                                 uint64_t limit_bytes,
                                 absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_TIMEOUT".
absl::Status QueueTimeout(absl::Duration waited, absl::Duration retry_after);
// DEADLINE_EXCEEDED, "DEADLINE_TOO_SHORT".
absl::Status DeadlineTooShort(absl::Duration left, absl::Duration needed);
// ALREADY_EXISTS, "REQUEST_ID_REUSED".
absl::Status RequestIdReused(const std::string& request_id);
// NOT_FOUND, "RUN_NOT_FOUND". Also for runs of others.
absl::Status RunNotFound(const std::string& run_id);
// NOT_FOUND, "SESSION_NOT_FOUND". Also for sessions of others.
absl::Status SessionNotFound(const std::string& session_id);
// NOT_FOUND with what is known of the session's end: "SESSION_EXPIRED",
// "SESSION_DELETED" or "SESSION_DIED".
absl::Status SessionOver(const std::string& reason, const std::string& message);
// RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS". `whose` "the server has": there are
// no more than `most` for anybody.
absl::Status TooManySessions(const std::string& whose, uint64_t most);
// The same, of a caller that has its share.
absl::Status SessionShareFull(const std::string& caller, uint64_t has,
                              uint64_t all, uint64_t most);
// RESOURCE_EXHAUSTED, "TOO_MANY_CONTEXTS".
absl::Status TooManyContexts(size_t most);
// RESOURCE_EXHAUSTED, "SESSION_LINE_FULL", with RetryInfo.
absl::Status SessionLineFull(const std::string& session_id, size_t waiting);
// FAILED_PRECONDITION, "SESSION_BUSY". `what` goes on: "run 7".
absl::Status SessionBusy(const std::string& session_id,
                         const std::string& what);
// FAILED_PRECONDITION, "SESSION_UNUSABLE": a durable session that the policy
// doesn't allow as it is now.
absl::Status SessionUnusable(const std::string& session_id,
                             const std::string& why);
// What became of a durable session's files. RESOURCE_EXHAUSTED,
// "DURABLE_SPACE_FULL"; DATA_LOSS, "SESSION_FILES_DAMAGED"; else UNAVAILABLE,
// "FILES_NOT_SAVED".
// `whose`: "session ses-…".
absl::Status FilesNotSaved(const std::string& whose, const absl::Status& cause);
// RESOURCE_EXHAUSTED, "FORK_SPACE_FULL", with RetryInfo: files of forks that
// wait for their first use take too much memory; `taken` says how much.
absl::Status ForkSpaceFull(const std::string& taken,
                           absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "TOO_MANY_CALLS", with RetryInfo. `what` there are too
// many of: "64 calls with 100 bytes wait for this session".
absl::Status TooManyCalls(const std::string& what, absl::Duration retry_after);
// Of an operation on a session's file. `reason` begins with "FILE_".
absl::Status FileFailed(absl::StatusCode code, const std::string& reason,
                        const std::string& message);
// NOT_FOUND, "EXEC_NOT_FOUND".
absl::Status ExecNotFound(const std::string& session_id,
                          const std::string& exec_id);
// PERMISSION_DENIED, "COMMANDS_DENIED", with "profile" and "key" as metadata:
// the profile's rules don't see commands, so it has none.
absl::Status CommandsDenied(const std::string& profile);
// PERMISSION_DENIED, "LIBRARIES_DENIED", with "profile" as metadata.
absl::Status LibrariesDenied(const std::string& profile,
                             const std::string& why);
// FAILED_PRECONDITION, "LIBRARIES_UNAVAILABLE": none of the language can be had
// here, or these aren't installed and may not be now.
absl::Status LibrariesUnavailable(const std::string& why);
// FAILED_PRECONDITION, "LIBRARIES_NOT_INSTALLED", where the tool could not
// install them; RESOURCE_EXHAUSTED, "LIBRARIES_TOO_LARGE"; else the cause's
// code.
absl::Status LibrariesNotInstalled(const absl::Status& cause);
// NOT_FOUND, "LAYER_NOT_FOUND".
absl::Status LayerNotFound(const std::string& layer_id);
// FAILED_PRECONDITION, "LAYER_IN_USE".
absl::Status LayerInUse(const std::string& layer_id);
// ALREADY_EXISTS, "EXEC_ID_REUSED".
absl::Status ExecIdReused(const std::string& exec_id);
// RESOURCE_EXHAUSTED, "TOO_MANY_EXECS", with RetryInfo. `what` there are too
// many of: "32 commands run in the session".
absl::Status TooManyExecs(const std::string& what, absl::Duration retry_after);
// Of a command that could not be started; `reason` says why.
absl::Status ExecNotStarted(absl::StatusCode code, const std::string& reason,
                            const std::string& message);
// FAILED_PRECONDITION, "SESSION_WITHOUT_KERNEL".
absl::Status SessionWithoutKernel(const std::string& session_id);
// NOT_FOUND, "APPROVAL_NOT_FOUND". Also for those of others.
absl::Status ApprovalNotFound(const std::string& approval_id);
// FAILED_PRECONDITION; `reason` begins with "APPROVAL_".
absl::Status ApprovalUnusable(const std::string& reason,
                              const std::string& message);
// PERMISSION_DENIED, "APPROVAL_DENIED".
absl::Status ApprovalDenied(const std::string& message);
// FAILED_PRECONDITION, "APPROVAL_ANSWERED". `state` goes on: "is approved".
absl::Status ApprovalAnswered(const std::string& approval_id,
                              const std::string& state);
// PERMISSION_DENIED, "NOT_AN_APPROVER".
absl::Status NotAnApprover(const std::string& message);
// RESOURCE_EXHAUSTED, "TOO_MANY_APPROVALS", with RetryInfo.
absl::Status TooManyApprovals(const std::string& caller, uint64_t pending,
                              uint64_t of_caller);
// UNAVAILABLE, "AUDIT_UNWRITABLE", with RetryInfo: nothing is run, and nobody
// told of its end, whose line can't be written into the audit log.
absl::Status AuditUnwritable(const std::string& directory,
                             const std::string& why);
// UNAVAILABLE, "SHUTTING_DOWN".
absl::Status ShuttingDown();
// UNAUTHENTICATED, "UNKNOWN_CALLER": the connection is not one we accepted.
absl::Status UnknownCaller();
// CANCELLED, "CANCELLED": the caller went away; it hardly sees this.
absl::Status CallerGone();
// Dresses up an error of the job runner that isn't one of these here:
// "NO_JAIL_SLOT" with RetryInfo for RESOURCE_EXHAUSTED, "SANDBOX_UNAVAILABLE"
// with RetryInfo for UNAVAILABLE, else "JAIL_FAILED".
absl::Status RunFailed(const absl::Status& cause);

// ErrorInfo.reason of such an error; empty for others.
std::string ErrorReason(const absl::Status& status);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_ERRORS_H_
