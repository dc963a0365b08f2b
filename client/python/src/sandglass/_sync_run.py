"""A run whose events are iterated."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import grpc

from sandglass._run import RunEvent, RunEvents, RunResult, may_repeat
from sandglass._sync import Connection, cancel_quietly

if TYPE_CHECKING:
    from sandglass.v1 import run_pb2


class RunStream(Iterator[RunEvent]):
    """Iterates over a run's events as they come. Leaving it early, by `close` or the
    end of its `with`, cancels the run."""

    def __init__(
        self,
        connection: Connection,
        request: run_pb2.RunCodeRequest,
        deadline: float | None,
    ) -> None:
        self._connection = connection
        self._request = request
        self._repeatable = may_repeat(request)
        self._deadline = deadline
        self._seen = RunEvents()
        self._call: Any = None
        self._events = self._read()

    def _read(self) -> Iterator[RunEvent]:
        from sandglass.v1 import run_pb2

        request = run_pb2.StreamRunCodeRequest(run=self._request)
        retries = self._connection.retries(self._deadline)
        begun = False
        while self._seen.result is None:
            try:
                stubs = self._connection.stubs()
                self._call = stubs.sandbox.StreamRunCode(
                    request, timeout=retries.left()
                )
                for message in self._call:
                    begun = True
                    yield self._seen.take(message)
            except grpc.RpcError as broken:
                may_repeat = self._repeatable and not begun
                self._connection.pause_or_raise(broken, retries, may_repeat)
            finally:
                cancel_quietly(self._call)

    def __next__(self) -> RunEvent:
        return next(self._events)

    @property
    def run_id(self) -> str:
        """Empty until it has started."""
        return self._seen.run_id

    @property
    def result(self) -> RunResult:
        """How it ended; reads on to its end first."""
        for _ in self:
            pass
        if self._seen.result is None:
            raise RuntimeError("the stream was closed before the run ended")
        return self._seen.result

    def close(self) -> None:
        cancel_quietly(self._call)
        self._events.close()  # type: ignore[attr-defined]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()
