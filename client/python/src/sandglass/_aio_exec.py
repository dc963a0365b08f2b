"""Commands of a sandbox, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import grpc

from sandglass import _errors, _exec
from sandglass._aio import AioConnection, cancel_quietly
from sandglass._exec import (
    Collector,
    CommandEnd,
    CommandEvent,
    CommandEvents,
    CommandResult,
)
from sandglass._op import Retries

if TYPE_CHECKING:
    from sandglass.v1 import exec_pb2

_LONGEST_WAIT = 600.0  # of one PollExec


class AsyncCommandStream(AsyncIterator[CommandEvent]):
    """As `CommandStream`, with `async for` and `async with`."""

    def __init__(
        self,
        connection: AioConnection,
        spec: exec_pb2.ExecSpec,
        *,
        attach_from: int | None = None,
    ) -> None:
        self._connection = connection
        self._spec = spec
        self._attach_from = attach_from
        self._call: Any = None
        self._events = self._read()
        self.end: CommandEnd | None = None

    def _first(self, seen: CommandEvents) -> exec_pb2.ExecuteRequest:
        if self._attach_from is None:
            return _exec.start_message(self._spec, seen.next_sequence)
        session_id, exec_id = self._spec.session_id, self._spec.exec_id
        at = max(self._attach_from, seen.next_sequence)
        return _exec.attach_message(session_id, exec_id, at)

    async def _read(self) -> AsyncIterator[CommandEvent]:
        seen = CommandEvents()
        retries = Retries(self._connection.retry_for, None)
        try:
            while self.end is None:
                try:
                    stubs = self._connection.stubs()
                    self._call = stubs.exec.Execute(iter([self._first(seen)]))
                    async for message in self._call:
                        retries.note_progress()
                        event = seen.take(message)
                        self.end = event.end
                        yield event
                except grpc.RpcError as broken:
                    await self._connection.pause_or_raise(broken, retries, True)
        finally:
            cancel_quietly(self._call)
            if self.end is None and self._attach_from is None:
                await self._stop()

    async def _stop(self) -> None:
        # It has an id of ours, so nobody else would.
        op = _exec.stop(self._spec.session_id, self._spec.exec_id, 9, 0)
        try:
            await self._connection.call(op, deadline=5)
        except (_errors.SandglassError, RuntimeError):
            pass  # it had not started, or its sandbox is gone

    async def __anext__(self) -> CommandEvent:
        return await anext(self._events)

    async def close(self) -> None:
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


async def collect(stream: AsyncCommandStream, max_output_bytes: int) -> CommandResult:
    """All of a command's output, and how it ended."""
    collector = Collector(max_output_bytes)
    async with stream:
        async for event in stream:
            if (result := collector.take(event)) is not None:
                return result
    raise RuntimeError("the command's stream ended without its end")


class AsyncCommand:
    """As `Command`, awaited."""

    def __init__(
        self, connection: AioConnection, session_id: str, exec_id: str
    ) -> None:
        self._connection = connection
        self._session_id = session_id
        self.id = exec_id
        self._seen = CommandEvents()
        self._end: CommandEnd | None = None

    async def _poll(self, **options: Any) -> list[CommandEvent]:
        op = _exec.poll(
            self._session_id,
            self.id,
            from_sequence=self._seen.next_sequence,
            **options,
        )
        snapshot = await self._connection.call(op)
        events = []
        if snapshot.HasField("gap"):
            events.append(self._seen.take_gap(snapshot.gap))
        events += map(self._seen.take_output, snapshot.output)
        if snapshot.exec.HasField("end"):
            self._end = CommandEnd(snapshot.exec.end)
        return events

    async def read(self, wait: float = 0.0) -> str:
        """The output since the last read; waits for some, at most `wait` seconds."""
        events = await self._poll(wait=min(wait, _LONGEST_WAIT), any_output=True)
        return "".join(event.text for event in events)

    async def write(self, data: bytes | str, *, close: bool = False) -> None:
        """To its standard input, which must have been left open; `close` ends it."""
        op = _exec.write(self._session_id, self.id, data, close)
        await self._connection.call(op)

    async def end(self) -> CommandEnd | None:
        """How it ended; None while it goes on."""
        if self._end is None:
            snapshot = await self._connection.call(
                _exec.look(self._session_id, self.id)
            )
            if snapshot.exec.HasField("end"):
                self._end = CommandEnd(snapshot.exec.end)
        return self._end

    async def wait(self, max_output_bytes: int = 16 << 20) -> CommandResult:
        """Waits for its end; with all output that the daemon has kept."""
        return await collect(self.stream(), max_output_bytes)

    def stream(self, from_sequence: int = 0) -> AsyncCommandStream:
        """What is kept of its output, and what comes. Leaving it stops nothing."""
        from sandglass.v1 import exec_pb2

        spec = exec_pb2.ExecSpec(session_id=self._session_id, exec_id=self.id)
        return AsyncCommandStream(self._connection, spec, attach_from=from_sequence)

    async def signal(self, number: int) -> None:
        """To its process group."""
        await self._connection.call(_exec.signal(self._session_id, self.id, number))

    async def stop(self, *, signal: int = 15, grace: float = 5.0) -> None:
        """Sends it a signal, and kills what is left after `grace` seconds."""
        await self._connection.call(
            _exec.stop(self._session_id, self.id, signal, grace)
        )

    def __repr__(self) -> str:
        return f"<Command {self.id}>"
