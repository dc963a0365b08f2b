#ifndef SANDGLASS_SERVER_BASE_ERRORS_H_
#define SANDGLASS_SERVER_BASE_ERRORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/profile/profile.h"
#include "policy/tenant/budget.h"

namespace sandglass::server {

// Every error that the API answers with is made by one of these functions. Each
// error carries its google.rpc details (ErrorInfo with the domain
// "sandglass.dev" and the reason named below, BadRequest, RetryInfo,
// QuotaFailure) as payloads of the absl::Status; ToGrpcStatus of server/rpc
// sends them on. How a program ended is never one of these errors.

// The most violations that one answer lists; the others are only counted.
inline constexpr size_t kMaxViolations = 32;

// The domain of every ErrorInfo.
inline constexpr char kErrorDomain[] = "sandglass.dev";
// The name of each payload of a status begins with this.
inline constexpr char kErrorTypePrefix[] = "type.googleapis.com/";

// INVALID_ARGUMENT, "INVALID_REQUEST". `violations` must not be empty.
absl::Status InvalidRequest(
    const std::vector<policy::FieldViolation>& violations);
// INVALID_ARGUMENT, "MALFORMED_MESSAGE": the bytes aren't a protobuf message of
// that type.
absl::Status MalformedMessage(const std::string& type);
// RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE". Both sizes are in bytes.
absl::Status MessageTooLarge(uint64_t bytes, uint64_t max);
// RESOURCE_EXHAUSTED, "REQUEST_BYTES_FULL", with RetryInfo: the caller's share
// of the memory for requests that are still being received is used up.
absl::Status RequestBytesFull(uint64_t bytes);
// RESOURCE_EXHAUSTED, "ANSWER_BYTES_FULL": the unread answers of `whose` hold
// `held` bytes, and there is no room for one more. `advice` says what became of
// the call's effects. It has no RetryInfo: the call was carried out, and a
// client that repeats calls by itself would do it twice.
absl::Status AnswerBytesFull(const std::string& whose, uint64_t bytes,
                             uint64_t held, std::string_view advice);
// UNAVAILABLE, "ISOLATION_BROKEN": a program got to a place that no program may
// reach.
absl::Status IsolationBroken();
// The same for jails of a profile that has since been replaced; only sessions
// still have such jails.
absl::Status JailsOfProfileEscaped(const std::string& profile);
// FAILED_PRECONDITION, "LANGUAGE_UNAVAILABLE".
absl::Status LanguageUnavailable(const std::string& why);
// UNAVAILABLE, "LANGUAGE_PREPARING", with RetryInfo: the language's first start
// hasn't finished yet.
absl::Status LanguagePreparing(const std::string& name,
                               absl::Duration retry_after);
// FAILED_PRECONDITION, "MEMORY_BUDGET_TOO_SMALL": the run would never fit, so
// waiting would not help.
absl::Status NeverFits(uint64_t wanted_bytes, uint64_t budget_bytes);
// RESOURCE_EXHAUSTED, "QUEUE_FULL".
absl::Status QueueFull(uint64_t queued, absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_SHARE_FULL": this caller's part of the queue is
// full. `queued` of its runs wait, and `all` runs of all callers together.
absl::Status QueueShareFull(const std::string& caller, uint64_t queued,
                            uint64_t all, absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_BYTES_FULL": waiting requests hold too much data.
absl::Status QueueBytesFull(uint64_t limit_bytes, absl::Duration retry_after);
// The same for this caller's part of those bytes.
absl::Status QueueBytesShareFull(const std::string& caller, uint64_t bytes,
                                 uint64_t limit_bytes,
                                 absl::Duration retry_after);
// PERMISSION_DENIED, "PROFILE_DENIED": the tenant may use only these.
absl::Status ProfileDenied(const std::string& whose, const std::string& profile,
                           const std::vector<std::string>& allowed);
// RESOURCE_EXHAUSTED, "TENANT_CEILING", with QuotaFailure and RetryInfo: the
// tenant already has as many as its file allows. `ceiling` is the file's key.
// With an infinite `retry_after` there is no RetryInfo: time alone makes no
// room.
absl::Status TenantCeiling(const std::string& tenant, std::string_view ceiling,
                           uint64_t has, uint64_t most,
                           absl::Duration retry_after);
// The same without RetryInfo: one alone is larger than the ceiling.
absl::Status TenantCeilingTooLow(const std::string& tenant,
                                 std::string_view ceiling, uint64_t wanted,
                                 uint64_t most);
// RESOURCE_EXHAUSTED, "TENANT_BUDGET_SPENT", with QuotaFailure and RetryInfo.
absl::Status TenantBudgetSpent(const std::string& tenant,
                               const policy::BudgetSpent& spent);
// RESOURCE_EXHAUSTED, "DEADLINE_UNREACHABLE", with RetryInfo: the run would
// have to wait for others of its caller beyond the call's deadline. `needed` is
// how long it would take until it has ended.
absl::Status DeadlineUnreachable(absl::Duration left, absl::Duration needed,
                                 absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "QUEUE_TIMEOUT".
absl::Status QueueTimeout(absl::Duration waited, absl::Duration retry_after);
// DEADLINE_EXCEEDED, "DEADLINE_TOO_SHORT".
absl::Status DeadlineTooShort(absl::Duration left, absl::Duration needed);
// ALREADY_EXISTS, "REQUEST_ID_REUSED".
absl::Status RequestIdReused(const std::string& request_id);
// NOT_FOUND, "RUN_NOT_FOUND". Also the answer for runs of other callers.
absl::Status RunNotFound(const std::string& run_id);
// NOT_FOUND, "SESSION_NOT_FOUND". Also the answer for sessions of other
// callers.
absl::Status SessionNotFound(const std::string& session_id);
// NOT_FOUND, with what is known about how the session ended: "SESSION_EXPIRED",
// "SESSION_DELETED", "SESSION_EVICTED" or "SESSION_DIED".
absl::Status SessionOver(const std::string& reason, const std::string& message);
// RESOURCE_EXHAUSTED, "SESSION_MEMORY_FULL": the memory limits of all sessions
// would add up to more than they may, or the caller has its share of that.
// `wanted`, `has`, `all` and `max` are bytes.
absl::Status SessionMemoryFull(const std::string& caller, uint64_t wanted,
                               uint64_t has, uint64_t all, uint64_t max);
// RESOURCE_EXHAUSTED, "MACHINE_LACKS_MEMORY", with RetryInfo.
absl::Status MachineLacksMemory();
// RESOURCE_EXHAUSTED, "TOO_MANY_SESSIONS". With `whose` "the server has", the
// bound `max` is that of all callers together.
absl::Status TooManySessions(const std::string& whose, uint64_t max);
// The same for a caller that already has its share.
absl::Status SessionShareFull(const std::string& caller, uint64_t has,
                              uint64_t all, uint64_t max);
// RESOURCE_EXHAUSTED, "TOO_MANY_CONTEXTS".
absl::Status TooManyContexts(size_t max);
// RESOURCE_EXHAUSTED, "SESSION_LINE_FULL", with RetryInfo.
absl::Status SessionLineFull(const std::string& session_id, size_t waiting);
// FAILED_PRECONDITION, "SESSION_BUSY". `what` names what is going on in the
// session, for example "run 7".
absl::Status SessionBusy(const std::string& session_id,
                         const std::string& what);
// FAILED_PRECONDITION, "SESSION_UNUSABLE": the policy as it is now doesn't
// allow this durable session.
absl::Status SessionUnusable(const std::string& session_id,
                             const std::string& why);
// A durable session's files could not be saved. RESOURCE_EXHAUSTED,
// "DURABLE_SPACE_FULL"; DATA_LOSS, "SESSION_FILES_DAMAGED"; otherwise
// UNAVAILABLE, "FILES_NOT_SAVED". `whose` is for example "session ses-…".
absl::Status FilesNotSaved(const std::string& whose, const absl::Status& cause);
// RESOURCE_EXHAUSTED, "FORK_SPACE_FULL", with RetryInfo: the files of forks
// that wait for their first use take too much memory; `taken` says how much.
absl::Status ForkSpaceFull(const std::string& taken,
                           absl::Duration retry_after);
// RESOURCE_EXHAUSTED, "TOO_MANY_CALLS", with RetryInfo. `what` says what there
// are too many of: "64 calls with 100 bytes wait for this session".
absl::Status TooManyCalls(const std::string& what, absl::Duration retry_after);
// UNAVAILABLE, "PORT_CLOSED", with RetryInfo: no program listens there.
absl::Status PortClosed(const std::string& session_id, uint32_t port);
// FAILED_PRECONDITION, "NO_LINKS": who serves this makes no links to ports.
absl::Status NoLinks();
// ABORTED, "CONNECTION_RESET": a connection to a program broke.
absl::Status ConnectionReset(const std::string& why);
// An operation on a session's file failed. `reason` begins with "FILE_".
absl::Status FileFailed(absl::StatusCode code, const std::string& reason,
                        const std::string& message);
// NOT_FOUND, "EXEC_NOT_FOUND".
absl::Status ExecNotFound(const std::string& session_id,
                          const std::string& exec_id);
// PERMISSION_DENIED, "COMMANDS_DENIED", with "profile" and "key" as metadata:
// the profile's rules can't look into commands, so its sessions have none.
absl::Status CommandsDenied(const std::string& profile);
// PERMISSION_DENIED, "LIBRARIES_DENIED", with "profile" as metadata.
absl::Status LibrariesDenied(const std::string& profile,
                             const std::string& why);
// FAILED_PRECONDITION, "LIBRARIES_UNAVAILABLE": this server has no libraries
// for the language at all, or these aren't installed and may not be installed
// now.
absl::Status LibrariesUnavailable(const std::string& why);
// FAILED_PRECONDITION, "LIBRARIES_NOT_INSTALLED", where the tool could not
// install them; RESOURCE_EXHAUSTED, "LIBRARIES_TOO_LARGE"; otherwise the code
// of `cause`.
absl::Status LibrariesNotInstalled(const absl::Status& cause);
// NOT_FOUND, "LAYER_NOT_FOUND".
absl::Status LayerNotFound(const std::string& layer_id);
// FAILED_PRECONDITION, "LAYER_IN_USE".
absl::Status LayerInUse(const std::string& layer_id);
// ALREADY_EXISTS, "EXEC_ID_REUSED".
absl::Status ExecIdReused(const std::string& exec_id);
// RESOURCE_EXHAUSTED, "TOO_MANY_EXECS", with RetryInfo. `what` says what there
// are too many of: "32 commands run in the session".
absl::Status TooManyExecs(const std::string& what, absl::Duration retry_after);
// A command could not be started; `reason` says why.
absl::Status ExecNotStarted(absl::StatusCode code, const std::string& reason,
                            const std::string& message);
// FAILED_PRECONDITION, "SESSION_WITHOUT_KERNEL".
absl::Status SessionWithoutKernel(const std::string& session_id);
// NOT_FOUND, "APPROVAL_NOT_FOUND". Also the answer for approvals of other
// callers.
absl::Status ApprovalNotFound(const std::string& approval_id);
// FAILED_PRECONDITION; `reason` begins with "APPROVAL_".
absl::Status ApprovalUnusable(const std::string& reason,
                              const std::string& message);
// PERMISSION_DENIED, "APPROVAL_DENIED".
absl::Status ApprovalDenied(const std::string& message);
// FAILED_PRECONDITION, "APPROVAL_ANSWERED". `state` completes a sentence, for
// example "is approved".
absl::Status ApprovalAnswered(const std::string& approval_id,
                              const std::string& state);
// PERMISSION_DENIED, "NOT_AN_APPROVER".
absl::Status NotAnApprover(const std::string& message);
// RESOURCE_EXHAUSTED, "TOO_MANY_APPROVALS", with RetryInfo.
absl::Status TooManyApprovals(const std::string& caller, uint64_t pending,
                              uint64_t of_caller);
// UNAVAILABLE, "AUDIT_UNWRITABLE", with RetryInfo: while a line can't be
// written into the audit log, what it is about isn't run, and nobody is told of
// its end.
absl::Status AuditUnwritable(const std::string& directory,
                             const std::string& why);
// UNAVAILABLE, "SHUTTING_DOWN".
absl::Status ShuttingDown();
// UNAUTHENTICATED, "UNKNOWN_CALLER": the connection is not one that this server
// accepted.
absl::Status UnknownCaller();
// CANCELLED, "CANCELLED": the caller went away, so it will hardly ever see
// this.
absl::Status CallerGone();
// Turns an error of the job runner that isn't one of these here into one:
// "NO_JAIL_SLOT" with RetryInfo for RESOURCE_EXHAUSTED, "SANDBOX_UNAVAILABLE"
// with RetryInfo for UNAVAILABLE, otherwise "JAIL_FAILED".
absl::Status RunFailed(const absl::Status& cause);

// The ErrorInfo.reason of an error made here; empty for other errors.
std::string ErrorReason(const absl::Status& status);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_ERRORS_H_
