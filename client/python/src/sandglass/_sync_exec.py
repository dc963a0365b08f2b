"""Commands of a sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import grpc

from sandglass import _convert, _errors, _exec
from sandglass._exec import (
    Collector,
    CommandEnd,
    CommandEvent,
    CommandEvents,
    CommandResult,
)
from sandglass._files import Source, is_whole, pieces
from sandglass._sync import Connection, cancel_quietly

if TYPE_CHECKING:
    from sandglass.v1 import exec_pb2

_LONGEST_WAIT = 600.0  # of one PollExec


class Input:
    """What is sent to a command's standard input while it runs."""

    def __init__(self, source: Source) -> None:
        if isinstance(source, AsyncIterable):
            raise _convert.wrong_type("stdin", "bytes, a str or a binary file", source)
        self._source = source
        self._error: Exception | None = None
        self.begun = False
        self.spent = False  # it was read from and can't be again

    def messages(
        self, cancel: Callable[[], None]
    ) -> Iterator[exec_pb2.ExecuteRequest]:
        # gRPC would only say that "iterating requests" went wrong.
        self.spent = not is_whole(self._source)
        try:
            for piece in pieces(self._source):
                self.begun = True
                yield _exec.stdin_message(piece)
        except Exception as error:
            self._error = error
            cancel()

    def check(self, cancel: Callable[[], None]) -> None:
        """To be called once `cancel` can do something: gRPC reads the source in a
        thread of its own, which may have failed before."""
        if self._error is not None:
            cancel()

    def raise_error(self) -> None:
        """What went wrong while the source was read."""
        if self._error is not None:
            raise self._error


class CommandStream(Iterator[CommandEvent]):
    """Iterates over a command's output as it comes; a connection that breaks is made
    anew and goes on where it was, unless input was being sent in pieces. Leaving it
    early stops the command."""

    def __init__(
        self,
        connection: Connection,
        spec: exec_pb2.ExecSpec,
        *,
        stdin: Source | None = None,
        attach_from: int | None = None,
        deadline: float | None = None,
    ) -> None:
        self._connection = connection
        self._spec = spec
        self._stdin = None if stdin is None else Input(stdin)
        self._attach_from = attach_from
        self._deadline = deadline
        self._call: Any = None
        self._events = self._read()
        self.end: CommandEnd | None = None

    def _requests(self, seen: CommandEvents) -> Iterator[exec_pb2.ExecuteRequest]:
        if self._attach_from is None:
            yield _exec.start_message(self._spec, seen.next_sequence)
        else:
            session_id, exec_id = self._spec.session_id, self._spec.exec_id
            at = max(self._attach_from, seen.next_sequence)
            yield _exec.attach_message(session_id, exec_id, at)
        if self._stdin is not None:
            yield from self._stdin.messages(self._cancel)
            yield _exec.close_message()

    def _cancel(self) -> None:
        cancel_quietly(self._call)

    def _read(self) -> Iterator[CommandEvent]:
        seen = CommandEvents()
        retries = self._connection.retries(self._deadline)
        try:
            while self.end is None:
                try:
                    stubs = self._connection.stubs()
                    self._call = stubs.exec.Execute(
                        self._requests(seen), timeout=retries.left()
                    )
                    if self._stdin is not None:
                        self._stdin.check(self._cancel)
                    for message in self._call:
                        retries.note_progress()
                        event = seen.take(message)
                        self.end = event.end
                        yield event
                except grpc.RpcError as broken:
                    if self._stdin is not None:
                        self._stdin.raise_error()
                    may_repeat = self._stdin is None or not self._stdin.begun
                    spent = self._stdin is not None and self._stdin.spent
                    self._connection.pause_or_raise(
                        broken, retries, may_repeat, spent
                    )
        finally:
            cancel_quietly(self._call)
            if self.end is None and self._attach_from is None:
                self._stop()

    def _stop(self) -> None:
        # It has an id of ours, so nobody else would.
        op = _exec.stop(self._spec.session_id, self._spec.exec_id, 9, 0)
        try:
            self._connection.call(op, deadline=5)
        except (_errors.SandglassError, RuntimeError):
            pass  # it had not started, or its sandbox is gone

    def __next__(self) -> CommandEvent:
        return next(self._events)

    def close(self) -> None:
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


def collect(stream: CommandStream, max_output_bytes: int) -> CommandResult:
    """All of a command's output, and how it ended."""
    collector = Collector(max_output_bytes)
    with stream:
        for event in stream:
            if (result := collector.take(event)) is not None:
                return result
    raise RuntimeError("the command's stream ended without its end")


class Command:
    """A command in the background. It goes on until it ends, is stopped, or its
    sandbox ends, also without this object; `Sandbox.command(id)` finds it again."""

    def __init__(self, connection: Connection, session_id: str, exec_id: str) -> None:
        self._connection = connection
        self._session_id = session_id
        self.id = exec_id
        self._seen = CommandEvents()
        self._end: CommandEnd | None = None

    def _poll(self, **options: Any) -> list[CommandEvent]:
        op = _exec.poll(
            self._session_id,
            self.id,
            from_sequence=self._seen.next_sequence,
            **options,
        )
        snapshot = self._connection.call(op)
        events = []
        if snapshot.HasField("gap"):
            events.append(self._seen.take_gap(snapshot.gap))
        events += map(self._seen.take_output, snapshot.output)
        if snapshot.exec.HasField("end"):
            self._end = CommandEnd(snapshot.exec.end)
        return events

    def read(self, wait: float = 0.0) -> str:
        """The output since the last read; waits for some, at most `wait` seconds."""
        events = self._poll(wait=min(wait, _LONGEST_WAIT), any_output=True)
        return "".join(event.text for event in events)

    def write(self, data: Source, *, close: bool = False) -> None:
        """To its standard input, which must have been left open; `close` ends it.
        What is long, or comes from a file or in pieces, is sent as the command reads
        it, and this returns once all but the last of it is read."""
        if not _exec.in_pieces(data):
            op = _exec.write(self._session_id, self.id, cast(bytes | str, data), close)
            self._connection.call(op)
            return
        source = Input(data)
        call: Any = None

        def requests() -> Iterator[exec_pb2.ExecuteRequest]:
            yield _exec.attach_to_write(self._session_id, self.id)
            yield from source.messages(lambda: cancel_quietly(call))
            if close:
                yield _exec.close_message()
            yield _exec.detach_message()

        try:
            call = self._connection.stubs().exec.Execute(requests())
            source.check(call.cancel)
            for _ in call:
                pass
        except grpc.RpcError as broken:
            source.raise_error()
            raise _errors.from_rpc(broken, self._connection.endpoint) from None

    def resize(self, rows: int, columns: int) -> None:
        """Of its terminal."""
        op = _exec.resize(self._session_id, self.id, rows, columns)
        self._connection.call(op)

    @property
    def end(self) -> CommandEnd | None:
        """How it ended; None while it goes on."""
        if self._end is None:
            snapshot = self._connection.call(_exec.look(self._session_id, self.id))
            if snapshot.exec.HasField("end"):
                self._end = CommandEnd(snapshot.exec.end)
        return self._end

    def wait(
        self, max_output_bytes: int = 16 << 20, *, timeout: float | None = None
    ) -> CommandResult:
        """Waits for its end; with all output that the daemon has kept. After
        `timeout` seconds it is `DeadlineExceeded`, and the command goes on."""
        try:
            return collect(self._stream(0, timeout), max_output_bytes)
        except _errors.DeadlineExceeded as error:
            _exec.goes_on(error, timeout or 0)
            raise

    def stream(self, from_sequence: int = 0) -> CommandStream:
        """What is kept of its output, and what comes. Leaving it stops nothing."""
        return self._stream(from_sequence, None)

    def _stream(self, from_sequence: int, deadline: float | None) -> CommandStream:
        from sandglass.v1 import exec_pb2

        spec = exec_pb2.ExecSpec(session_id=self._session_id, exec_id=self.id)
        return CommandStream(
            self._connection, spec, attach_from=from_sequence, deadline=deadline
        )

    def signal(self, number: int) -> None:
        """To its process group."""
        self._connection.call(_exec.signal(self._session_id, self.id, number))

    def stop(self, *, signal: int = 15, grace: float = 5.0) -> None:
        """Sends it a signal, and kills what is left after `grace` seconds."""
        self._connection.call(_exec.stop(self._session_id, self.id, signal, grace))

    def __repr__(self) -> str:
        return f"<Command {self.id}>"
