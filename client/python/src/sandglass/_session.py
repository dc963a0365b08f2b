"""Sandboxes as the daemon has them, and what else it is asked."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, cast

from sandglass import _convert
from sandglass._convert import Limits, Seconds
from sandglass._endpoint import DaemonOptions
from sandglass._op import Op, Steps
from sandglass._run import Outcome, outcome_of

if TYPE_CHECKING:
    from sandglass.v1 import policy_pb2, run_pb2, server_info_pb2, session_pb2


class SandboxOptions(TypedDict, total=False):
    """Keyword arguments that say what a new sandbox is like.

    `idle_timeout` (seconds) ends it after so long without use, `max_age` however
    it is used; both are at most the daemon's. An `evictable` one ends when its
    caller wants another, has as many as it may, and this one was longest not used.
    `env` and `limits` hold for all that
    runs in it. `libraries` are of `language`, and installed with the first use.
    """

    profile: str
    limits: Limits
    env: Mapping[str, str]
    labels: Mapping[str, str]
    idle_timeout: Seconds
    max_age: Seconds
    evictable: bool
    libraries: Sequence[str]
    library_lock: str


class SandboxArguments(SandboxOptions, DaemonOptions, total=False):
    """The same with what says which daemon is meant, and who calls."""


def split(
    options: SandboxArguments, client: object
) -> tuple[DaemonOptions, SandboxOptions]:
    """Takes apart what says which daemon is meant and what a sandbox is like."""
    names = DaemonOptions.__annotations__
    where = {name: value for name, value in options.items() if name in names}
    if client is not None and where:
        raise ValueError(f"{', '.join(where)}: the client has these already")
    rest = {name: value for name, value in options.items() if name not in names}
    return cast(DaemonOptions, where), cast(SandboxOptions, rest)


class SandboxInfo(NamedTuple):
    """`state` is active, paused, or dormant (files kept, nothing runs). `raw` is
    the daemon's `session_pb2.Session`, which has kernels, limits and more."""

    id: str
    language: str
    profile: str
    state: Literal["active", "paused", "dormant", "unknown"]
    labels: dict[str, str]
    created: datetime.datetime
    expires: datetime.datetime
    memory_bytes: int
    durable: bool
    raw: session_pb2.Session


def info_of(message: session_pb2.Session) -> SandboxInfo:
    states: dict[int, Literal["active", "paused", "dormant"]]
    states = {1: "active", 2: "paused", 3: "dormant"}
    return SandboxInfo(
        id=message.session_id,
        language=message.language,
        profile=message.profile,
        state=states.get(message.state, "unknown"),
        labels=dict(message.labels),
        created=_convert.to_datetime(message.create_time),
        expires=_convert.to_datetime(message.expire_time),
        memory_bytes=message.memory_bytes,
        durable=message.durable,
        raw=message,
    )


def _info(answer: Any) -> SandboxInfo:
    return info_of(answer.session)


class RunState(enum.IntEnum):
    """Where a run stands."""

    QUEUED = 1
    RUNNING = 2
    FINISHED = 3


class RunSummary:
    """A run that waits, goes on, or ended a short while ago. What isn't named here is
    as in `raw`, the daemon's `run_pb2.RunSummary`: profile, caller, elapsed…"""

    __slots__ = ("raw",)

    def __init__(self, raw: run_pb2.RunSummary) -> None:
        self.raw = raw

    @property
    def run_id(self) -> str:
        return self.raw.run_id

    @property
    def language(self) -> str:
        return self.raw.language

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.raw.labels)

    @property
    def state(self) -> RunState:
        return RunState(self.raw.state)

    @property
    def outcome(self) -> Outcome | None:
        """None until it has ended."""
        return outcome_of(self.raw.outcome) if self.raw.outcome else None

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "raw"), name)

    def __repr__(self) -> str:
        what = self.outcome or self.state.name
        return f"<RunSummary {self.run_id} {self.language} {what}>"


def create_request(
    language: str, **options: Unpack[SandboxOptions]
) -> session_pb2.CreateSessionRequest:
    from sandglass.v1 import session_pb2

    _convert.check_options("Sandbox", options, SandboxOptions)
    request = session_pb2.CreateSessionRequest(
        language=_convert.text("language", language)
    )
    for name in ("profile", "library_lock"):
        if (value := options.get(name)) is not None:
            setattr(request, name, _convert.text(name, value))
    for name in ("env", "labels"):
        if (value := options.get(name)) is not None:
            getattr(request, name).update(_convert.text_map(name, value))
    for name in ("idle_timeout", "max_age"):
        if (value := options.get(name)) is not None:
            _convert.set_duration(getattr(request, name), name, value)
    request.evictable = bool(options.get("evictable", False))
    if (limits := options.get("limits")) is not None:
        _convert.set_limits(request.limits, limits)
    if (libraries := options.get("libraries")) is not None:
        request.libraries.extend(_convert.texts("libraries", libraries))
    return request


def create(language: str, **options: Unpack[SandboxOptions]) -> Op[SandboxInfo]:
    # Made twice, the first would only be idle until it expires.
    return Op("session", "CreateSession", create_request(language, **options), _info)


def get_or_create(language: str, **options: Unpack[SandboxOptions]) -> Op[SandboxInfo]:
    from sandglass.v1 import session_pb2

    request = session_pb2.GetOrCreateSessionRequest(
        create=create_request(language, **options)
    )
    return Op("session", "GetOrCreateSession", request, _info)


def named(
    method: str, session_id: str, *, context: str | None = None
) -> Op[SandboxInfo]:
    """The calls that name a session and answer with it."""
    from sandglass.v1 import session_pb2

    request = getattr(session_pb2, f"{method}Request")(session_id=session_id)
    if context is not None:
        request.context = _convert.text("context", context)
    return Op("session", method, request, _info)


def delete(session_id: str) -> Op[None]:
    from sandglass.v1 import session_pb2

    request = session_pb2.DeleteSessionRequest(session_id=session_id)
    return Op("session", "DeleteSession", request, lambda _: None)


def interrupt(session_id: str, context: str) -> Op[bool]:
    from sandglass.v1 import session_pb2

    request = session_pb2.InterruptKernelRequest(
        session_id=session_id, context=_convert.text("context", context)
    )
    return Op(
        "session",
        "InterruptKernel",
        request,
        lambda answer: bool(answer.interrupted),
        repeatable=False,
    )


def update(
    session_id: str,
    labels: Mapping[str, str] | None,
    idle_timeout: Seconds | None,
    max_age: Seconds | None,
) -> Op[SandboxInfo]:
    from sandglass.v1 import session_pb2

    request = session_pb2.UpdateSessionRequest(session_id=session_id)
    if labels is not None:
        request.labels.labels.update(_convert.text_map("labels", labels))
    if idle_timeout is not None:
        _convert.set_duration(request.idle_timeout, "idle_timeout", idle_timeout)
    if max_age is not None:
        _convert.set_duration(request.max_age, "max_age", max_age)
    return Op("session", "UpdateSession", request, _info)


def fork(session_id: str, count: int) -> Op[list[SandboxInfo]]:
    from sandglass.v1 import session_pb2

    if isinstance(count, bool) or not isinstance(count, int):
        raise _convert.wrong_type("count", "an int", count)
    request = session_pb2.ForkSessionRequest(session_id=session_id)
    for _ in range(count):
        request.children.add()
    return Op(
        "session",
        "ForkSession",
        request,
        lambda answer: list(map(info_of, answer.sessions)),
        repeatable=False,
    )


def sandboxes(labels: Mapping[str, str]) -> Steps[list[SandboxInfo]]:
    from sandglass.v1 import session_pb2

    request = session_pb2.ListSessionsRequest(page_size=1000)
    request.labels.update(_convert.text_map("labels", labels))
    found: list[SandboxInfo] = []
    while True:
        page = yield Op("session", "ListSessions", request, lambda answer: answer)
        found += map(info_of, page.sessions)
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def server_info() -> Op[server_info_pb2.GetServerInfoResponse]:
    from sandglass.v1 import server_info_pb2

    request = server_info_pb2.GetServerInfoRequest()
    return Op("sandbox", "GetServerInfo", request, lambda answer: answer)


def cancel(run_id: str) -> Op[None]:
    from sandglass.v1 import run_pb2

    request = run_pb2.CancelRunRequest(run_id=_convert.text("run_id", run_id))
    return Op("sandbox", "CancelRun", request, lambda _: None)


def runs(labels: Mapping[str, str]) -> Steps[list[RunSummary]]:
    from sandglass.v1 import run_pb2

    request = run_pb2.ListRunsRequest(page_size=1000)
    request.labels.update(_convert.text_map("labels", labels))
    found: list[RunSummary] = []
    while True:
        page = yield Op("sandbox", "ListRuns", request, lambda answer: answer)
        found += map(RunSummary, page.runs)
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def approvals() -> Op[list[policy_pb2.Approval]]:
    from sandglass.v1 import policy_pb2

    request = policy_pb2.ListApprovalsRequest()
    return Op("policy", "ListApprovals", request, lambda answer: list(answer.approvals))


def approval(approval_id: str) -> Op[policy_pb2.Approval]:
    from sandglass.v1 import policy_pb2

    request = policy_pb2.GetApprovalRequest(
        approval_id=_convert.text("approval_id", approval_id)
    )
    return Op("policy", "GetApproval", request, lambda answer: answer.approval)


def approve(
    approval_id: str, comment: str, for_session: bool
) -> Op[policy_pb2.Approval]:
    from sandglass.v1 import policy_pb2

    request = policy_pb2.ApproveRequest(
        approval_id=_convert.text("approval_id", approval_id),
        comment=_convert.text("comment", comment),
        for_session=for_session,
    )
    return Op(
        "policy",
        "Approve",
        request,
        lambda answer: answer.approval,
        repeatable=False,
    )


def deny(approval_id: str, comment: str) -> Op[policy_pb2.Approval]:
    from sandglass.v1 import policy_pb2

    request = policy_pb2.DenyRequest(
        approval_id=_convert.text("approval_id", approval_id),
        comment=_convert.text("comment", comment),
    )
    return Op(
        "policy", "Deny", request, lambda answer: answer.approval, repeatable=False
    )


def install(language: str, libraries: Sequence[str], profile: str) -> Op[list[str]]:
    from sandglass.v1 import layer_pb2

    request = layer_pb2.BuildLayerRequest(
        language=_convert.text("language", language),
        libraries=_convert.texts("libraries", libraries),
        profile=_convert.text("profile", profile),
    )
    return Op(
        "layer",
        "BuildLayer",
        request,
        lambda answers: list(answers[-1].built.used.libraries),
        stream=True,
    )
