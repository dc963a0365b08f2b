"""A run whose events are iterated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import grpc

from sandglass._aio import AioConnection, Late, cancel_quietly
from sandglass._run import RunEvent, RunEvents, RunResult, may_repeat

if TYPE_CHECKING:
    from sandglass.v1 import run_pb2


class AsyncRunStream(AsyncIterator[RunEvent]):
    """As `RunStream`, with `async for` and `async with`."""

    def __init__(
        self,
        connection: AioConnection,
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

    async def _read(self) -> AsyncIterator[RunEvent]:
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
                async for message in self._call:
                    begun = True
                    yield self._seen.take(message)
            except grpc.RpcError as broken:
                may_repeat = self._repeatable and not begun
                await self._connection.pause_or_raise(broken, retries, may_repeat)
            finally:
                cancel_quietly(self._call)

    async def __anext__(self) -> RunEvent:
        return await anext(self._events)

    @property
    def run_id(self) -> str:
        """Empty until it has started."""
        return self._seen.run_id

    @property
    def result(self) -> Late[RunResult]:
        """How it ended, awaited; reads on to its end first."""
        return Late(self._read_result)

    async def _read_result(self) -> RunResult:
        async for _ in self:
            pass
        if self._seen.result is None:
            raise RuntimeError("the stream was closed before the run ended")
        return self._seen.result

    async def close(self) -> None:
        cancel_quietly(self._call)
        await self._events.aclose()  # type: ignore[attr-defined]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()
