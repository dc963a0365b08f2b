"""Runs: what is asked, and what comes back."""

from __future__ import annotations

import codecs
import enum
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from sandglass import _convert, _errors
from sandglass._convert import Limits, Seconds
from sandglass._op import Op

if TYPE_CHECKING:
    from sandglass.v1 import finding_pb2, run_pb2, verdict_pb2

Content = bytes | str


class Outcome(enum.StrEnum):
    """What became of a program; docs/verdicts.md says how it is decided."""

    OK = "OK"
    NONZERO_EXIT = "NONZERO_EXIT"
    SIGNALED = "SIGNALED"
    TIMEOUT = "TIMEOUT"
    CPU_LIMIT = "CPU_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    DISK_LIMIT = "DISK_LIMIT"
    FILE_SIZE_LIMIT = "FILE_SIZE_LIMIT"
    PIDS_LIMIT = "PIDS_LIMIT"
    COMPILE_ERROR = "COMPILE_ERROR"
    CANCELLED = "CANCELLED"
    SHUTDOWN = "SHUTDOWN"
    JAIL_FAILED = "JAIL_FAILED"
    NEEDS_APPROVAL = "NEEDS_APPROVAL"
    DENIED = "DENIED"
    UNKNOWN = "UNKNOWN"
    """One that this version of the client doesn't know."""


def outcome_of(number: int) -> Outcome:
    from sandglass.v1 import verdict_pb2

    try:
        name = verdict_pb2.Outcome.Name(number)
        return Outcome(name.removeprefix("OUTCOME_"))
    except ValueError:
        return Outcome.UNKNOWN


class RunOptions(TypedDict, total=False):
    """Keyword arguments of runs.

    `timeout` (seconds) is the program's wall time limit, the same as
    `limits["wall_time"]`; it may only tighten the profile's. `deadline` (seconds)
    is the whole call's, its wait for room and its installs included; a program
    that it stops is `DeadlineExceeded`. `libraries` are named as their tool names
    them ("six==1.16.0"), `library_lock` is a lock file's text. `files` go into
    /workspace before the program starts, `fetch` are paths and globs of what
    comes back. `rich` asks for `results` and `error` as a notebook has them, which
    a sandbox's runs always have; it is for languages with a kernel. `approval_id`
    is that of an answer with NEEDS_APPROVAL, once it was approved. `request_id` is
    made when there is none. A `batch` run starts where others leave room.

    In a sandbox `compile_limits` are for languages without a kernel, and `env`,
    `profile`, `libraries` are not taken.
    """

    stdin: Content
    args: Sequence[str]
    env: Mapping[str, str]
    files: Mapping[str, Content] | Iterable[tuple[str, Content]]
    fetch: Sequence[str]
    timeout: Seconds
    limits: Limits
    compile_limits: Limits
    profile: str
    labels: Mapping[str, str]
    libraries: Sequence[str]
    library_lock: str
    rich: bool
    batch: bool
    approval_id: str
    request_id: str
    deadline: float


def request(
    code: str,
    language: str | None,
    session_id: str = "",
    context: str = "",
    **options: Unpack[RunOptions],
) -> run_pb2.RunCodeRequest:
    from sandglass.v1 import run_pb2

    _convert.check_options("run_code", options, RunOptions)
    message = run_pb2.RunCodeRequest(
        code=_convert.text("code", code),
        session_id=session_id,
        context=_convert.text("context", context),
        rich_results=bool(options.get("rich", False)),
        request_id=options.get("request_id") or f"py-{os.urandom(16).hex()}",
    )
    if options.get("batch"):
        message.priority = run_pb2.RUN_PRIORITY_BATCH
    if language is not None:
        message.language = _convert.text("language", language)
    for name in ("profile", "approval_id", "library_lock"):
        if (value := options.get(name)) is not None:
            setattr(message, name, _convert.text(name, value))
    for name in ("args", "fetch", "libraries"):
        if (value := options.get(name)) is not None:
            getattr(message, name).extend(_convert.texts(name, value))
    for name in ("env", "labels"):
        if (value := options.get(name)) is not None:
            getattr(message, name).update(_convert.text_map(name, value))
    for name in ("limits", "compile_limits"):
        if (value := options.get(name)) is not None:
            _convert.set_limits(getattr(message, name), value, name)
    if (timeout := options.get("timeout")) is not None:
        _convert.set_duration(message.limits.wall_time, "timeout", timeout)
    if (stdin := options.get("stdin")) is not None:
        message.stdin = _convert.content("stdin", stdin)
    if (files := options.get("files")) is not None:
        for path, content in _convert.files("files", files):
            message.files.add(path=path, content=content)
    return message


def may_repeat(message: run_pb2.RunCodeRequest) -> bool:
    """Whether it may be sent again when nobody knows what became of the first try.
    Its id joins it to one that goes on or has ended well; but the daemon cancels a
    run whose connection broke, and one that was started anew knows none. Then it
    runs again, which the files and the state of a sandbox would show."""
    return not message.session_id


def op(message: run_pb2.RunCodeRequest) -> Op[RunResult]:
    return Op("sandbox", "RunCode", message, RunResult, repeatable=may_repeat(message))


class RichResult:
    """Something that a program displayed, or the value of its last expression, in
    one or more ways. `result["image/png"]` is the bytes of one."""

    __slots__ = ("is_value", "data")

    def __init__(self, message: run_pb2.RichResult) -> None:
        self.is_value: bool = message.is_value
        self.data: dict[str, bytes] = {d.mime_type: d.data for d in message.data}

    def __getitem__(self, mime_type: str) -> bytes:
        return self.data[mime_type]

    def __contains__(self, mime_type: str) -> bool:
        return mime_type in self.data

    def _text(self, mime_type: str) -> str | None:
        data = self.data.get(mime_type)
        return None if data is None else _convert.decode(data)

    @property
    def text(self) -> str | None:
        """As text/plain."""
        return self._text("text/plain")

    @property
    def html(self) -> str | None:
        return self._text("text/html")

    @property
    def json(self) -> Any:
        """The value of its application/json; None when it has none."""
        import json

        data = self.data.get("application/json")
        return None if data is None else json.loads(data)

    @property
    def png(self) -> bytes | None:
        """A figure's image file."""
        return self.data.get("image/png")

    def __repr__(self) -> str:
        return f"<RichResult {self.text or ', '.join(self.data)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from sandglass import _report

        return _report.bundle_of(self)


class RunError:
    """The error that ended a program, in its language's own words."""

    __slots__ = ("name", "value", "traceback")

    def __init__(self, message: run_pb2.RunError) -> None:
        self.name: str = message.name
        self.value: str = message.value
        self.traceback: str = message.traceback

    def __str__(self) -> str:
        return self.traceback or f"{self.name}: {self.value}"

    def __repr__(self) -> str:
        return f"<RunError {self.name}: {self.value}>"


class FetchedFile:
    """A file that `fetch` asked for. `error` is set instead of `content`, for
    example "not_found", "too_large"."""

    __slots__ = ("path", "content", "mode", "size", "error")

    def __init__(self, message: run_pb2.OutputFile) -> None:
        from sandglass.v1 import run_pb2

        self.path: str = message.path.decode(errors="surrogateescape")
        self.content: bytes = message.content
        self.mode: int = message.mode
        self.size: int = message.size
        self.error: str | None = None
        if message.error:
            name = run_pb2.FileError.Name(message.error)
            self.error = name.removeprefix("FILE_ERROR_").lower()

    def __repr__(self) -> str:
        return f"<FetchedFile {self.path} {self.error or f'{self.size} bytes'}>"


class Fate:
    """How something ended, and why: what runs and commands have in common."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.raw.outcome)

    @property
    def ok(self) -> bool:
        """It ended by itself with 0."""
        return self.outcome is Outcome.OK

    @property
    def verdict(self) -> str:
        """The outcome and why, as one line: "TIMEOUT: wall time limit 5 s passed"."""
        return f"{self.outcome}: {self.evidence.explanation}".removesuffix(": ")

    @property
    def evidence(self) -> verdict_pb2.Evidence:
        """What the outcome rests on: rule, limit and measured value, counters."""
        evidence: verdict_pb2.Evidence = self.raw.evidence
        return evidence

    @property
    def exit_code(self) -> int | None:
        """None when it didn't exit by itself."""
        return int(self.raw.exit_code) if self.raw.HasField("exit_code") else None

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it, for example "SIGSEGV"."""
        if not self.raw.HasField("signal"):
            return None
        return self.raw.signal.name or f"signal {self.raw.signal.number}"


class RunResult(Fate):
    """How a run ended, with what it printed and why.

    Its parts are read from `raw`, the daemon's whole answer (a
    `sandglass.v1.run_pb2.RunCodeResponse`), which has what is not named here:
    usage, timings, limits, network, findings. `str(result)` is a report for a
    model or a log: the verdict first, then the output.
    """

    __slots__ = ()
    raw: run_pb2.RunCodeResponse

    @property
    def stdout(self) -> str:
        """What was kept of it; see `truncated`. Bytes that are no UTF-8 are U+FFFD;
        `raw.stdout.data` has them as they are."""
        return _convert.decode(self.raw.stdout.data)

    @property
    def stderr(self) -> str:
        return _convert.decode(self.raw.stderr.data)

    @property
    def truncated(self) -> bool:
        """The middle of stdout or stderr was left out."""
        return self.raw.stdout.truncated or self.raw.stderr.truncated

    @property
    def results(self) -> list[RichResult]:
        """What it displayed, and the last expression's value, in order. In a
        sandbox, or with `rich`."""
        return [RichResult(result) for result in self.raw.results]

    @property
    def text(self) -> str | None:
        """The last expression's value as text; None when it had none."""
        for result in self.raw.results:
            if result.is_value:
                return RichResult(result).text
        return None

    @property
    def error(self) -> RunError | None:
        """The error that nobody caught. In a sandbox, or with `rich`; else it is
        in stderr."""
        return RunError(self.raw.error) if self.raw.HasField("error") else None

    @property
    def files(self) -> dict[str, FetchedFile]:
        """What `fetch` brought, by path."""
        return {file.path: file for file in map(FetchedFile, self.raw.files)}

    @property
    def findings(self) -> list[finding_pb2.Finding]:
        """What the profile's rules found in the program's text."""
        return list(self.raw.findings)

    @property
    def approval_id(self) -> str | None:
        """Of a run that waits for a person (NEEDS_APPROVAL): `Client.approve` names
        it, and then `run_code(…, approval_id=…)` runs the same request."""
        if not self.raw.HasField("approval"):
            return None
        return self.raw.approval.approval_id

    @property
    def hints(self) -> list[str]:
        """Sentences for the program's author."""
        return [hint.message for hint in self.raw.hints]

    @property
    def wall_time(self) -> float:
        """Seconds that the program itself took."""
        return _convert.to_seconds(self.raw.usage.wall_time)

    @property
    def run_id(self) -> str:
        return self.raw.run_id

    def check(self) -> RunResult:
        """This same result, or `RunFailed` when the program didn't end well."""
        if not self.ok:
            raise _errors.RunFailed(str(self), result=self)
        return self

    def report(self, max_chars: int | None = None) -> str:
        """The same as `str(result)`, of at most `max_chars` characters: what is
        longer loses the middle of its longest parts, with a note."""
        from sandglass import _report

        return _report.of_run(self, max_chars)

    def __repr__(self) -> str:
        return f"<RunResult {self.verdict}>"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from sandglass import _report

        return _report.html_of_run(self)

    def __str__(self) -> str:
        from sandglass import _report

        return _report.of_run(self)


EventKind = Literal["progress", "compiled", "started", "output", "result", "finished"]


class RunEvent:
    """Something that happened in a run. `kind` says which field is set:

    "progress": `text`, a line of what installs the libraries; "compiled": the
    compile phase is over; "started": it runs, `text` is the run's id; "output":
    `data` and `text`, of `stream`; "result": `result`, displayed just now;
    "finished": the last.
    """

    __slots__ = ("kind", "text", "data", "stream", "result", "seconds")

    def __init__(self, kind: EventKind, seconds: float) -> None:
        self.kind: EventKind = kind
        self.text: str = ""
        self.data: bytes = b""
        self.stream: Literal["", "stdout", "stderr"] = ""
        self.result: RichResult | None = None
        self.seconds: float = seconds
        """Since the start of the program."""

    def __repr__(self) -> str:
        what = f" {self.stream}" if self.stream else ""
        return f"<RunEvent {self.kind}{what} {self.text!r}>"


class StreamText:
    """Decodes the pieces of the two streams, whose cuts fall anywhere."""

    def __init__(self) -> None:
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {"stdout": make("replace"), "stderr": make("replace")}

    def decode(self, stream: str, data: bytes) -> str:
        return self._decoders[stream].decode(data)


class RunEvents:
    """Makes events of a stream's messages and keeps what the caller asks later."""

    def __init__(self) -> None:
        self.result: RunResult | None = None
        self.run_id = ""
        self._text = StreamText()

    def take(self, message: run_pb2.StreamRunCodeResponse) -> RunEvent:
        from sandglass.v1 import run_pb2

        which = message.WhichOneof("event")
        seconds = _convert.to_seconds(message.since_start)
        if which == "chunk":
            event = RunEvent("output", seconds)
            stderr = message.chunk.stream == run_pb2.OUTPUT_STREAM_STDERR
            event.stream = "stderr" if stderr else "stdout"
            event.data = message.chunk.data
            event.text = self._text.decode(event.stream, event.data)
        elif which == "rich":
            event = RunEvent("result", seconds)
            event.result = RichResult(message.rich)
        elif which == "started":
            event = RunEvent("started", seconds)
            event.text = self.run_id = message.started.run_id
        elif which == "compiled":
            event = RunEvent("compiled", seconds)
            event.text = _convert.decode(message.compiled.stderr.data)
        elif which == "library_progress":
            event = RunEvent("progress", seconds)
            event.text = message.library_progress.line
        else:
            event = RunEvent("finished", seconds)
            self.result = RunResult(message.result)
        return event
