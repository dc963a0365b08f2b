"""Commands in a sandbox."""

from __future__ import annotations

import collections
import datetime
import os
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack

from sandglass import _convert, _errors
from sandglass._convert import Limits, Seconds
from sandglass._op import Op
from sandglass._run import Fate, StreamText

if TYPE_CHECKING:
    from sandglass._files import Source
    from sandglass.v1 import exec_pb2

_PAST_ALL = 1 << 62
# In place of a stream's name: here the middle was left out.
_CUT = "cut"
# More input than this isn't sent in one message.
_MOST_STDIN = 8 << 20


class CommandOptions(TypedDict, total=False):
    """Keyword arguments of commands.

    `cwd` is absolute or relative to /workspace. `timeout` (seconds) is the
    command's wall time limit, which may only tighten the sandbox's. `limits` may
    also have cpu_time, output_total_bytes, open_files and file_size_bytes. `stdin`
    is what it reads: bytes, text, a binary file or pieces of bytes (of asyncio's
    also those of an `async for`), which are sent as the command reads them; without,
    it is at its end. `merged` sends standard error
    where standard output goes, so that all output is in the order in which it was
    written.
    """

    cwd: str
    env: Mapping[str, str]
    stdin: Source | AsyncIterable[bytes]
    timeout: Seconds
    limits: Limits
    merged: bool


class BackgroundOptions(CommandOptions, total=False):
    """Also: `open_stdin` leaves standard input open for `Command.write`; `terminal`
    (rows, columns) runs it on a terminal of its own."""

    open_stdin: bool
    terminal: tuple[int, int]


def spec(
    session_id: str, command: str | Sequence[str], **options: Unpack[CommandOptions]
) -> exec_pb2.ExecSpec:
    from sandglass.v1 import exec_pb2

    _convert.check_options("execute", options, CommandOptions)
    # Its own id lets a second try find the first.
    message = exec_pb2.ExecSpec(
        session_id=session_id, exec_id=f"py-{os.urandom(16).hex()}"
    )
    if isinstance(command, str):
        message.command = _convert.text("command", command)
    else:
        message.argv.extend(_convert.texts("command", command))
    if (cwd := options.get("cwd")) is not None:
        message.directory = _convert.text("cwd", cwd)
    if (env := options.get("env")) is not None:
        message.env.update(_convert.text_map("env", env))
    if in_pieces(stdin := options.get("stdin")):
        message.open_stdin = True
    elif stdin is not None:
        message.stdin = _convert.content("stdin", stdin)
    if (limits := options.get("limits")) is not None:
        _convert.set_limits(message.limits, limits)
    if (timeout := options.get("timeout")) is not None:
        _convert.set_duration(message.limits.wall_time, "timeout", timeout)
    message.merged_output = bool(options.get("merged", False))
    return message


def in_pieces(stdin: object) -> bool:
    """Whether it has to be sent while the command runs."""
    if stdin is None:
        return False
    if isinstance(stdin, str | bytes | bytearray | memoryview):
        return len(_convert.content("stdin", stdin)) > _MOST_STDIN
    if not hasattr(stdin, "read") and not isinstance(stdin, Iterable | AsyncIterable):
        raise _convert.wrong_type("stdin", "bytes, a str or a binary file", stdin)
    return True


def stdin_of(options: Mapping[str, Any]) -> Any:
    """What has to be sent while the command runs; None: nothing."""
    stdin = options.get("stdin")
    return stdin if in_pieces(stdin) else None


class CommandEnd(Fate):
    """How a command ended."""

    __slots__ = ()
    raw: exec_pb2.ExecEnd

    @property
    def hints(self) -> list[str]:
        """Sentences for the command's author."""
        return [hint.message for hint in self.raw.hints]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.verdict}>"


class CommandResult(CommandEnd):
    """How a command ended, with its output. `output` is both streams in the order
    in which they came. `dropped_bytes` were left out of its middle, as the daemon
    or `max_output_bytes` wanted."""

    __slots__ = ("_pieces", "dropped_bytes")

    def __init__(
        self,
        raw: exec_pb2.ExecEnd,
        pieces: Sequence[tuple[str, bytes]],
        dropped_bytes: int,
    ) -> None:
        super().__init__(raw)
        self._pieces = pieces
        self.dropped_bytes = dropped_bytes

    def _text(self, *streams: str) -> str:
        names = [name for name, _ in self._pieces]
        at = names.index(_CUT) if _CUT in names else len(names)
        head, tail = (
            b"".join(data for name, data in pieces if name in streams)
            for pieces in (self._pieces[:at], self._pieces[at:])
        )
        if at == len(names):
            return _convert.decode(head)
        return "".join(_convert.decode_parts(head, tail))

    @property
    def output(self) -> str:
        return self._text("stdout", "stderr")

    @property
    def marked_output(self) -> str:
        """The same with a line where its middle was left out: joined, head and tail
        may read as something that nobody wrote."""
        names = [name for name, _ in self._pieces]
        if _CUT not in names:
            return self.output
        at = names.index(_CUT)
        first, last = (
            b"".join(data for _, data in pieces)
            for pieces in (self._pieces[:at], self._pieces[at:])
        )
        head, tail = _convert.decode_parts(first, last)
        return f"{head}\n[… {self.dropped_bytes} bytes are left out here …]\n{tail}"

    @property
    def stdout(self) -> str:
        return self._text("stdout")

    @property
    def stderr(self) -> str:
        return self._text("stderr")

    @property
    def truncated(self) -> bool:
        return self.dropped_bytes > 0

    def check(self) -> CommandResult:
        """This same result, or `CommandFailed` when it didn't end with 0."""
        if not self.ok:
            raise CommandFailed(str(self), result=self)
        return self

    def __str__(self) -> str:
        from sandglass import _report

        return _report.of_command(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))


class CommandFailed(_errors.SandglassError):
    """From `CommandResult.check`. `result` has it all."""

    def __init__(self, message: str, *, result: CommandResult | None = None) -> None:
        super().__init__(message, code="OK")
        self.result = result


class CommandInfo(NamedTuple):
    """A command of a sandbox. `end` says how it ended, and is None while it goes on.
    `raw` is the daemon's `exec_pb2.ExecInfo`, which has limits, pid and more."""

    id: str
    argv: list[str]
    directory: str
    background: bool
    started: datetime.datetime
    end: CommandEnd | None
    raw: exec_pb2.ExecInfo


class CommandEvent:
    """`kind` "output": `data` and `text` of `stream`; "gap": `dropped_bytes` that
    were no longer kept; "finished": `end`."""

    __slots__ = ("kind", "stream", "data", "text", "dropped_bytes", "end")

    def __init__(self, kind: Literal["started", "output", "gap", "finished"]) -> None:
        self.kind: Literal["started", "output", "gap", "finished"] = kind
        self.stream: Literal["", "stdout", "stderr"] = ""
        self.data = b""
        self.text = ""
        self.dropped_bytes = 0
        self.end: CommandEnd | None = None

    def __repr__(self) -> str:
        return f"<CommandEvent {self.kind} {self.stream} {self.text!r}>"


class CommandEvents:
    """Makes events of a stream's messages; knows where a broken one goes on."""

    def __init__(self) -> None:
        self.next_sequence = 0
        self._text = StreamText()

    def take_output(self, message: exec_pb2.ExecOutput) -> CommandEvent:
        from sandglass.v1 import run_pb2

        self.next_sequence = message.sequence + 1
        event = CommandEvent("output")
        stderr = message.stream == run_pb2.OUTPUT_STREAM_STDERR
        event.stream = "stderr" if stderr else "stdout"
        event.data = message.data
        event.text = self._text.decode(event.stream, event.data)
        return event

    def take_gap(self, message: exec_pb2.ExecGap) -> CommandEvent:
        event = CommandEvent("gap")
        event.dropped_bytes = message.stdout_bytes + message.stderr_bytes
        self.next_sequence = message.next_sequence
        return event

    def take(self, message: exec_pb2.ExecuteResponse) -> CommandEvent:
        which = message.WhichOneof("event")
        if which == "output":
            return self.take_output(message.output)
        if which == "gap":
            return self.take_gap(message.gap)
        if which == "end":
            event = CommandEvent("finished")
            event.end = CommandEnd(message.end)
            return event
        return CommandEvent("started")


class Collector:
    """Keeps the head and the tail of a command's output."""

    def __init__(self, max_bytes: int) -> None:
        self._half = max(max_bytes // 2, 1)
        self._head: list[tuple[str, bytes]] = []
        self._head_bytes = 0
        self._tail: collections.deque[tuple[str, bytes]] = collections.deque()
        self._tail_bytes = 0
        self._dropped = 0
        self._cut = False

    def take(self, event: CommandEvent) -> CommandResult | None:
        """The result, once it is over."""
        if event.kind == "output":
            self._add(event.stream, event.data)
        elif event.kind == "gap":
            self._dropped += event.dropped_bytes
        if event.end is None:
            return None
        cut = [(_CUT, b"")] if self._cut else []
        pieces = [*self._head, *cut, *self._tail]
        return CommandResult(event.end.raw, pieces, self._dropped)

    def _add(self, stream: str, data: bytes) -> None:
        room = self._half - self._head_bytes
        if room > 0:
            self._head.append((stream, data[:room]))
            self._head_bytes += len(data[:room])
            data = data[room:]
        if not data:
            return
        self._tail.append((stream, data))
        self._tail_bytes += len(data)
        while (extra := self._tail_bytes - self._half) > 0:
            first_stream, first = self._tail.popleft()
            if len(first) > extra:
                self._tail.appendleft((first_stream, first[extra:]))
            cut = min(extra, len(first))
            self._tail_bytes -= cut
            self._dropped += cut
            self._cut = True


def start_message(
    message: exec_pb2.ExecSpec, from_sequence: int
) -> exec_pb2.ExecuteRequest:
    from sandglass.v1 import exec_pb2

    start = exec_pb2.ExecuteStart(spec=message, from_sequence=from_sequence)
    return exec_pb2.ExecuteRequest(start=start)


def attach_message(
    session_id: str, exec_id: str, from_sequence: int
) -> exec_pb2.ExecuteRequest:
    from sandglass.v1 import exec_pb2

    attach = exec_pb2.ExecAttach(
        session_id=session_id, exec_id=exec_id, from_sequence=from_sequence
    )
    return exec_pb2.ExecuteRequest(attach=attach)


def stdin_message(data: bytes) -> exec_pb2.ExecuteRequest:
    from sandglass.v1 import exec_pb2

    return exec_pb2.ExecuteRequest(stdin=data)


def close_message() -> exec_pb2.ExecuteRequest:
    from sandglass.v1 import exec_pb2

    return exec_pb2.ExecuteRequest(close_stdin=exec_pb2.ExecCloseStdin())


def detach_message() -> exec_pb2.ExecuteRequest:
    from sandglass.v1 import exec_pb2

    return exec_pb2.ExecuteRequest(detach=exec_pb2.ExecDetach())


def background_spec(
    session_id: str, command: str | Sequence[str], **options: Unpack[BackgroundOptions]
) -> exec_pb2.ExecSpec:
    _convert.check_options("start", options, BackgroundOptions)
    open_stdin = options.pop("open_stdin", False)
    terminal = options.pop("terminal", None)
    message = spec(session_id, command, **options)  # type: ignore[misc]
    message.background = True
    message.open_stdin |= bool(open_stdin)
    if terminal is not None:
        message.terminal.rows, message.terminal.columns = terminal
    return message


def begin(message: exec_pb2.ExecSpec) -> Op[Any]:
    """Starts it and answers at once."""
    from sandglass.v1 import exec_pb2

    request = exec_pb2.StartExecRequest(spec=message)
    request.wait.nanos = 1
    return Op("exec", "StartExec", request, lambda answer: answer)


def poll(
    session_id: str,
    exec_id: str,
    *,
    from_sequence: int = 0,
    wait: float = 0.0,
    any_output: bool = False,
    stdin: bytes = b"",
    close_stdin: bool = False,
) -> Op[exec_pb2.ExecSnapshot]:
    from sandglass.v1 import exec_pb2

    request = exec_pb2.PollExecRequest(
        session_id=session_id,
        exec_id=exec_id,
        from_sequence=from_sequence,
        any_output=any_output,
        stdin=stdin,
        close_stdin=close_stdin,
    )
    if wait > 0:
        _convert.set_duration(request.wait, "wait", wait)
    return Op(
        "exec",
        "PollExec",
        request,
        lambda answer: answer.snapshot,
        repeatable=not stdin,
    )


def attach_to_write(session_id: str, exec_id: str) -> exec_pb2.ExecuteRequest:
    """Without its output."""
    return attach_message(session_id, exec_id, _PAST_ALL)


def resize(
    session_id: str, exec_id: str, rows: int, columns: int
) -> Op[exec_pb2.ExecSnapshot]:
    from sandglass.v1 import exec_pb2

    request = exec_pb2.PollExecRequest(
        session_id=session_id, exec_id=exec_id, from_sequence=_PAST_ALL
    )
    request.resize.rows, request.resize.columns = rows, columns
    return Op("exec", "PollExec", request, lambda answer: answer.snapshot)


def commands(session_id: str) -> Op[list[CommandInfo]]:
    from sandglass.v1 import exec_pb2

    request = exec_pb2.ListExecsRequest(session_id=session_id)
    return Op(
        "exec", "ListExecs", request, lambda answer: list(map(info_of, answer.execs))
    )


def info_of(message: exec_pb2.ExecInfo) -> CommandInfo:
    return CommandInfo(
        id=message.exec_id,
        argv=list(message.argv),
        directory=message.directory,
        background=message.background,
        started=_convert.to_datetime(message.start_time),
        end=CommandEnd(message.end) if message.HasField("end") else None,
        raw=message,
    )


def goes_on(error: _errors.DeadlineExceeded, seconds: float) -> None:
    """Says what it means that the wait for a command's end was too short."""
    error.message = f"the command goes on after {seconds:g} s"
    error.args = (error.message,)


def write(
    session_id: str, exec_id: str, data: bytes | str, close: bool
) -> Op[exec_pb2.ExecSnapshot]:
    return poll(
        session_id,
        exec_id,
        from_sequence=_PAST_ALL,
        stdin=_convert.content("data", data),
        close_stdin=close,
    )


def look(session_id: str, exec_id: str) -> Op[exec_pb2.ExecSnapshot]:
    """Without its output."""
    return poll(session_id, exec_id, from_sequence=_PAST_ALL)


def stop(session_id: str, exec_id: str, signal: int, grace: float | None) -> Op[None]:
    from sandglass.v1 import exec_pb2

    request = exec_pb2.StopExecRequest(
        session_id=session_id, exec_id=exec_id, signal=signal
    )
    if grace is not None:
        request.grace.nanos = 0
        if grace > 0:
            _convert.set_duration(request.grace, "grace", grace)
    return Op("exec", "StopExec", request, lambda _: None)


def signal(session_id: str, exec_id: str, number: int) -> Op[None]:
    from sandglass.v1 import exec_pb2

    request = exec_pb2.SignalExecRequest(
        session_id=session_id, exec_id=exec_id, signal=number
    )
    return Op("exec", "SignalExec", request, lambda _: None, repeatable=False)
