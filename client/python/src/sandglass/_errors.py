"""Errors of calls. What becomes of a program is never one of them: see
`RunResult.outcome`, and `RunResult.check` for those who want it raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sandglass import _endpoint

if TYPE_CHECKING:
    from sandglass._run import RunResult


class SandglassError(Exception):
    """A call that the daemon refused or could not carry out.

    `code` is gRPC's, for example "INVALID_ARGUMENT"; `reason` the daemon's, which
    stays the same between versions (docs/api.md lists them), empty where it gave
    none. `message` is for people. `violations` names each field that was wrong and
    why. `retry_after` is the seconds after which the daemon wants to be asked
    again, None when asking again won't help. `metadata` is what else it says.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        violations: tuple[tuple[str, str], ...] = (),
        retry_after: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.violations = violations
        self.retry_after = retry_after
        self.metadata = dict(metadata or {})
        self.grpc_message = ""

    def __str__(self) -> str:
        lines = [self.message]
        for field, why in self.violations:
            if f"{field}: {why}" != self.message:
                lines.append(f"  {field}: {why}")
        if self.retry_after is not None:
            lines.append(f"  try again in {self.retry_after:g} s")
        if self.reason:
            lines.append(f"  reason: {self.reason}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process borders (multiprocessing, Ray) by pickle.
        return (_restore, (type(self), self.__dict__.copy()))


class DaemonUnavailable(SandglassError, ConnectionError):
    """There is no daemon, it broke off, or it can't take calls just now."""


class InvalidRequest(SandglassError, ValueError):
    """The request is wrong; `violations` says what of it."""


class MessageTooLarge(InvalidRequest):
    """The request, or its answer, is longer than a message may be (16 MiB unless
    the daemon is configured otherwise). It has to go in parts: `files.write`,
    `files.read` and a command's `stdin` take content of any length in pieces."""


class NotFound(SandglassError, LookupError):
    """What the request names isn't there: a session, run, command, approval."""


class SessionGone(NotFound):
    """The sandbox isn't there; `reason` says whether it expired, was deleted,
    died, or never was. Another has to be made."""


class FileError(SandglassError):
    """An operation on a file failed. `file_code` says why, for example
    "file_not_found", "is_directory", "permission_denied", "no_space"."""

    @property
    def file_code(self) -> str:
        code = self.reason.removeprefix("FILE_").lower()
        return "file_not_found" if code == "not_found" else code


class PermissionDenied(SandglassError, PermissionError):
    """The caller, or the profile, doesn't allow it."""


class Busy(SandglassError):
    """No room just now; `retry_after` says when to ask again, and is None where only
    the caller can make room. Clients with `retry_busy_for` ask again themselves."""


class Conflict(SandglassError):
    """It can't be done as things are: an id that is taken, an approval that was
    used, libraries that could not be installed."""


class DeadlineExceeded(SandglassError, TimeoutError):
    """The call's own `deadline` passed. (A program's time limit is an outcome.)"""


class Cancelled(SandglassError):
    """The call was given up from here, or by the daemon."""


class RunFailed(SandglassError):
    """From `RunResult.check`: the program didn't end well. `result` has it all."""

    def __init__(self, message: str, *, result: RunResult | None = None) -> None:
        super().__init__(message, code="OK")
        self.result = result


_BY_CODE: dict[str, type[SandglassError]] = {
    "INVALID_ARGUMENT": InvalidRequest,
    "OUT_OF_RANGE": InvalidRequest,
    "NOT_FOUND": NotFound,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAUTHENTICATED": PermissionDenied,
    "RESOURCE_EXHAUSTED": Busy,
    "ALREADY_EXISTS": Conflict,
    "FAILED_PRECONDITION": Conflict,
    "ABORTED": Conflict,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "CANCELLED": Cancelled,
    "UNAVAILABLE": DaemonUnavailable,
}
# What "RESOURCE_EXHAUSTED" means where it isn't that there is no room just now.
_BY_REASON: dict[str, type[SandglassError]] = {
    "MESSAGE_TOO_LARGE": MessageTooLarge,
    "LIBRARIES_TOO_LARGE": Conflict,
}
_DETAILS_KEY = "grpc-status-details-bin"


def from_rpc(error: Any, endpoint: _endpoint.Endpoint) -> SandglassError:
    """What a `grpc.RpcError` of a call to the daemon at `endpoint` means."""
    from google.rpc import error_details_pb2, status_pb2

    code: str = error.code().name
    message: str = error.details() or code
    details = b""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            details = value
    reason, metadata = "", {}
    violations: list[tuple[str, str]] = []
    retry_after = None
    for any_detail in status_pb2.Status.FromString(details).details:
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if any_detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif any_detail.Unpack(bad):
            violations += [(v.field, v.description) for v in bad.field_violations]
        elif any_detail.Unpack(retry):
            delay = retry.retry_delay
            retry_after = delay.seconds + delay.nanos / 1e9
    grpc_message = message
    if code == "UNAVAILABLE" and not details:
        message = _endpoint.explain(endpoint, message)
    if code == "UNIMPLEMENTED":
        message = f"{message}\n  is {endpoint.address} a sandglassd of this version?"
    if code == "RESOURCE_EXHAUSTED" and not reason and "larger than max" in message:
        # gRPC itself refused it, here or there.
        reason = "MESSAGE_TOO_LARGE"
        message = f"a message of this call is too long: {message}"
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, SandglassError)
    if reason.startswith("SESSION_") and code == "NOT_FOUND":
        kind = SessionGone
    elif reason.startswith("FILE_"):
        kind = FileError
    made = kind(
        message,
        code=code,
        reason=reason,
        violations=tuple(violations),
        retry_after=retry_after,
        metadata=metadata,
    )
    made.grpc_message = grpc_message
    return made


def _restore(kind: type[SandglassError], state: dict[str, Any]) -> SandglassError:
    error = kind(state["message"])
    error.__dict__.update(state)
    return error
