"""One call to the daemon, without the way it is made: `client` makes it and
waits, `aio` awaits it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from sandglass import _errors

T = TypeVar("T")

# Answers may have 16 MiB, besides what frames them.
_MAX_MESSAGE_BYTES = 17 << 20

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    # No proxy of the environment stands between us and the own machine.
    ("grpc.enable_http_proxy", 0),
    # One that hangs is found while a call waits for it, however long that may.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A daemon that is started again is found soon. (What gRPC calls the least
    # pause bounds how long a connection may take to be made, as TLS over a slow
    # network does. It stays gRPC's own, of 20 s.)
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.use_local_subchannel_pool", 1),
)

# What the daemon says when it has not begun with a request.
_NOT_BEGUN = frozenset({"SHUTTING_DOWN", "SANDBOX_UNAVAILABLE", "LANGUAGE_PREPARING"})


# A language that is prepared for its first use is waited for as long as this.
_PREPARING = "LANGUAGE_PREPARING"
_PREPARING_SECONDS = 300.0


class Op(Generic[T]):
    """`service` and `method` name a stub's attributes. `request` is a message, or
    of a method that takes a stream, what makes its iterator. `convert` makes the
    result of the answer, or of the list of answers where they are a `stream`.
    `repeatable` says that the daemon may carry it out twice without harm, so that
    it may be sent again when nobody knows whether it was carried out. `spent` says
    that its content was read in part, and so can't be sent again at all."""

    __slots__ = (
        "service", "method", "request", "convert", "repeatable", "stream", "spent",
    )  # fmt: skip

    def __init__(
        self,
        service: str,
        method: str,
        request: Any,
        convert: Callable[[Any], T],
        *,
        repeatable: bool = True,
        stream: bool = False,
        spent: Callable[[], bool] = lambda: False,
    ) -> None:
        self.service = service
        self.method = method
        self.request = request
        self.convert = convert
        self.repeatable = repeatable
        self.stream = stream
        self.spent = spent

    def begin(self, stubs: Stubs, timeout: float | None) -> Any:
        """The call as gRPC has it: an iterator, an awaitable or the answer."""
        method = getattr(getattr(stubs, self.service), self.method)
        request = self.request() if callable(self.request) else self.request
        return method(request, timeout=timeout)


Steps = Generator[Op[Any], Any, T]
"""Calls that depend on each other: yields each, is sent its result, returns the
whole's."""


class Stubs:
    """The generated stubs of all services on one channel, of either kind."""

    def __init__(self, channel: Any) -> None:
        # Imported late: `import sandglass` shall cost little.
        from sandglass.v1 import (
            exec_service_pb2_grpc,
            file_service_pb2_grpc,
            layer_service_pb2_grpc,
            policy_service_pb2_grpc,
            sandbox_service_pb2_grpc,
            session_service_pb2_grpc,
        )

        def made(stub: Any) -> Any:  # what protoc makes has no types
            return stub(channel)

        self.sandbox = made(sandbox_service_pb2_grpc.SandboxServiceStub)
        self.session = made(session_service_pb2_grpc.SessionServiceStub)
        self.file = made(file_service_pb2_grpc.FileServiceStub)
        self.exec = made(exec_service_pb2_grpc.ExecServiceStub)
        self.layer = made(layer_service_pb2_grpc.LayerServiceStub)
        self.policy = made(policy_service_pb2_grpc.PolicyServiceStub)


class Retries:
    """When a call that failed is made again: while the daemon can't be reached
    or says that it hasn't begun, for `seconds` after it failed first; and while it
    has no room, for `busy_seconds`. Each of these times is counted by itself: a
    daemon that starts may be full afterwards."""

    def __init__(
        self, seconds: float, busy_seconds: float, deadline: float | None
    ) -> None:
        self._seconds = seconds
        self._busy_seconds = busy_seconds
        self._deadline = None if deadline is None else time.monotonic() + deadline
        self.note_progress()

    def note_progress(self) -> None:
        """A stream goes on: what breaks it later is another failure."""
        self._since: dict[str, float] = {}  # by what the failures said
        self._pause = 0.05
        self._told_preparing = False

    def left(self) -> float | None:
        """Seconds until the call's deadline."""
        if self._deadline is None:
            return None
        return max(self._deadline - time.monotonic(), 0.001)

    def pause(self, error: _errors.SandglassError, repeatable: bool) -> float | None:
        """Seconds to wait before the next try; None: no more."""
        seconds = self._seconds
        pause = self._pause * random.uniform(0.8, 1.2)
        kind = "unavailable"
        if isinstance(error, _errors.Busy) and error.retry_after is not None:
            # Nothing was begun. Not all who were refused shall come at once.
            kind = "busy"
            seconds = self._busy_seconds
            pause = error.retry_after * random.uniform(1, 1.2)
        elif error.code != "UNAVAILABLE":
            return None
        else:
            # gRPC's words for a connection that never came about.
            unsent = not error.reason and "failed to connect" in error.grpc_message
            if not (repeatable or unsent or error.reason in _NOT_BEGUN):
                return None
            if error.reason == _PREPARING and seconds > 0:
                kind = "preparing"
                seconds = max(seconds, _PREPARING_SECONDS)
            elif error.retry_after:
                pause = error.retry_after
        self._pause = min(self._pause * 2, 1.0)
        now = time.monotonic()
        since = self._since.setdefault(kind, now)
        if kind == "preparing" and not self._told_preparing:
            self._told_preparing = True
            what = error.message.partition(";")[0]
            logging.getLogger("sandglass").warning(
                "%s; waiting for it, %g s at most", what, seconds
            )
        end = now + pause
        if end > since + seconds:
            return None
        if self._deadline is not None and end > self._deadline:
            return None
        return pause
