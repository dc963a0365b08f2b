"""Commands of a sandbox, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import grpc

from sandglass import _convert, _errors, _exec
from sandglass._aio import AioConnection, Ending, Late, cancel_quietly
from sandglass._exec import (
    Collector,
    CommandEnd,
    CommandEvent,
    CommandEvents,
    CommandResult,
)
from sandglass._files import Source, is_whole, pieces

if TYPE_CHECKING:
    from sandglass.v1 import exec_pb2

_LONGEST_WAIT = 600.0  # of one PollExec


class AsyncInput:
    """What is sent to a command's standard input while it runs."""

    def __init__(self, source: Source | AsyncIterable[bytes]) -> None:
        self._source = source
        self._error: Exception | None = None
        self.begun = False
        self.spent = False  # it was read from and can't be again

    async def _pieces(self) -> AsyncIterator[bytes]:
        if not isinstance(self._source, AsyncIterable):
            for piece in pieces(self._source):
                yield piece
            return
        async for item in self._source:
            for piece in pieces(_convert.content("a piece of content", item)):
                yield piece

    async def messages(
        self, cancel: Callable[[], None]
    ) -> AsyncIterator[exec_pb2.ExecuteRequest]:
        # gRPC would only say that the call was cancelled.
        self.spent = not is_whole(self._source)
        try:
            async for piece in self._pieces():
                self.begun = True
                yield _exec.stdin_message(piece)
        except Exception as error:
            self._error = error
            cancel()

    def raise_error(self) -> None:
        """What went wrong while the source was read."""
        if self._error is not None:
            raise self._error


class AsyncCommandStream(AsyncIterator[CommandEvent]):
    """As `CommandStream`, with `async for` and `async with`."""

    def __init__(
        self,
        connection: AioConnection,
        spec: exec_pb2.ExecSpec,
        *,
        stdin: Source | AsyncIterable[bytes] | None = None,
        attach_from: int | None = None,
        deadline: float | None = None,
    ) -> None:
        self._connection = connection
        self._spec = spec
        self._stdin = None if stdin is None else AsyncInput(stdin)
        self._attach_from = attach_from
        self._deadline = deadline
        self._call: Any = None
        self._events = self._read()
        self.end: CommandEnd | None = None

    async def _requests(
        self, seen: CommandEvents
    ) -> AsyncIterator[exec_pb2.ExecuteRequest]:
        if self._attach_from is None:
            yield _exec.start_message(self._spec, seen.next_sequence)
        else:
            session_id, exec_id = self._spec.session_id, self._spec.exec_id
            at = max(self._attach_from, seen.next_sequence)
            yield _exec.attach_message(session_id, exec_id, at)
        if self._stdin is not None:
            async for message in self._stdin.messages(self._cancel):
                yield message
            yield _exec.close_message()

    def _cancel(self) -> None:
        cancel_quietly(self._call)

    async def _read(self) -> AsyncIterator[CommandEvent]:
        seen = CommandEvents()
        retries = self._connection.retries(self._deadline)
        try:
            while self.end is None:
                stubs = self._connection.stubs()
                self._call = stubs.exec.Execute(
                    self._requests(seen), timeout=retries.left()
                )
                ending = Ending(self._call)
                try:
                    async for message in self._call:
                        retries.note_progress()
                        event = seen.take(message)
                        self.end = event.end
                        yield event
                except grpc.RpcError as raised:
                    broken = await ending.error(raised)
                    if broken is None or self.end is not None:
                        continue
                    may_repeat = self._stdin is None or not self._stdin.begun
                    spent = self._stdin is not None and self._stdin.spent
                    await self._connection.pause_or_raise(
                        broken, retries, may_repeat, spent
                    )
                except asyncio.CancelledError:
                    # So a call ends that was cancelled for what its input did.
                    if self._stdin is not None:
                        self._stdin.raise_error()
                    raise
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

    async def write(
        self, data: Source | AsyncIterable[bytes], *, close: bool = False
    ) -> None:
        """To its standard input, which must have been left open; `close` ends it.
        What is long, or comes from a file or in pieces, is sent as the command reads
        it, and this returns once all but the last of it is read."""
        if not _exec.in_pieces(data):
            op = _exec.write(self._session_id, self.id, cast(bytes | str, data), close)
            await self._connection.call(op)
            return
        source = AsyncInput(data)

        async def requests() -> AsyncIterator[exec_pb2.ExecuteRequest]:
            yield _exec.attach_to_write(self._session_id, self.id)
            async for message in source.messages(lambda: cancel_quietly(call)):
                yield message
            if close:
                yield _exec.close_message()
            yield _exec.detach_message()

        call = self._connection.stubs().exec.Execute(requests())
        ending = Ending(call)
        try:
            async for _ in call:
                pass
        except grpc.RpcError as raised:
            broken = await ending.error(raised)
            if broken is not None:
                raise _errors.from_rpc(broken, self._connection.endpoint) from None
        except asyncio.CancelledError:
            source.raise_error()
            raise
        finally:
            cancel_quietly(call)

    async def resize(self, rows: int, columns: int) -> None:
        """Of its terminal."""
        op = _exec.resize(self._session_id, self.id, rows, columns)
        await self._connection.call(op)

    @property
    def end(self) -> Late[CommandEnd | None]:
        """How it ended, awaited; None while it goes on."""
        return Late(self._look)

    async def _look(self) -> CommandEnd | None:
        if self._end is None:
            snapshot = await self._connection.call(
                _exec.look(self._session_id, self.id)
            )
            if snapshot.exec.HasField("end"):
                self._end = CommandEnd(snapshot.exec.end)
        return self._end

    async def wait(
        self, max_output_bytes: int = 16 << 20, *, timeout: float | None = None
    ) -> CommandResult:
        """Waits for its end; with all output that the daemon has kept. After
        `timeout` seconds it is `DeadlineExceeded`, and the command goes on."""
        try:
            return await collect(self._stream(0, timeout), max_output_bytes)
        except _errors.DeadlineExceeded as error:
            _exec.goes_on(error, timeout or 0)
            raise

    def stream(self, from_sequence: int = 0) -> AsyncCommandStream:
        """What is kept of its output, and what comes. Leaving it stops nothing."""
        return self._stream(from_sequence, None)

    def _stream(self, from_sequence: int, deadline: float | None) -> AsyncCommandStream:
        from sandglass.v1 import exec_pb2

        spec = exec_pb2.ExecSpec(session_id=self._session_id, exec_id=self.id)
        return AsyncCommandStream(
            self._connection, spec, attach_from=from_sequence, deadline=deadline
        )

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
