"""A sandbox as a backend of deepagents: `create_deep_agent(backend=…)`.

>>> from deepagents import create_deep_agent
>>> with SandglassBackend.create() as backend:
...     agent = create_deep_agent(model="…", backend=backend)

Every method is a call of the daemon's own: nothing is done by commands in the
sandbox, whose image needs no tools for it. The asynchronous ones are grpc.aio's.

A file's errors, and a sandbox that has ended, are told in results, as deepagents
wants it. A daemon that is not there raises `DaemonUnavailable` from commands.
"""

from __future__ import annotations

import hashlib
import threading
from types import TracebackType
from typing import Any, Self, Unpack

from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
)

from sandglass import (
    _aio_exec,
    _deep_files,
    _errors,
    _exec,
    _report,
    _session,
    _sync_exec,
)
from sandglass._aio import AioConnection
from sandglass._endpoint import Endpoint, resolve
from sandglass._op import Steps
from sandglass._run import Outcome
from sandglass._session import SandboxInfo, SandboxOptions
from sandglass._sync import Connection
from sandglass.aio import AsyncSandbox
from sandglass.client import Client, Sandbox

_MAX_OUTPUT_BYTES = 4 << 20
# Threads whose sandbox needs no search; the others are found by their labels.
_MOST_KNOWN = 10_000
# As timeout(1) and the shell have it.
_TIMED_OUT = 124
_KILLED = 137
_BY_TIME = (Outcome.TIMEOUT, Outcome.CPU_LIMIT)


class _Backend(SandboxBackendProtocol):
    """All methods, over whatever `_session` says the sandbox is."""

    def __init__(self, address: str | Endpoint, retry_for: float) -> None:
        self._sync = Connection(address, retry_for)
        self._aio = AioConnection(address, retry_for)

    def _session(self) -> Steps[str]:
        """Tells the session's id, and may make the session for that."""
        raise NotImplementedError

    def ls(self, path: str) -> LsResult:
        return self._sync.drive(_deep_files.ls(self._session(), path))

    async def als(self, path: str) -> LsResult:
        return await self._aio.drive(_deep_files.ls(self._session(), path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        steps = _deep_files.read(self._session(), file_path, offset, limit)
        return self._sync.drive(steps)

    async def aread(
        self, file_path: str, offset: int = 0, limit: int = 2000
    ) -> ReadResult:
        steps = _deep_files.read(self._session(), file_path, offset, limit)
        return await self._aio.drive(steps)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        steps = _deep_files.grep(self._session(), pattern, path, glob, max_count)
        return self._sync.drive(steps)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        steps = _deep_files.grep(self._session(), pattern, path, glob, max_count)
        return await self._aio.drive(steps)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return self._sync.drive(_deep_files.glob(self._session(), pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return await self._aio.drive(_deep_files.glob(self._session(), pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        return self._sync.drive(_deep_files.write(self._session(), file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        steps = _deep_files.write(self._session(), file_path, content)
        return await self._aio.drive(steps)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        steps = _deep_files.edit(
            self._session(), file_path, old_string, new_string, replace_all
        )
        return self._sync.drive(steps)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        steps = _deep_files.edit(
            self._session(), file_path, old_string, new_string, replace_all
        )
        return await self._aio.drive(steps)

    def delete(self, file_path: str) -> DeleteResult:
        return self._sync.drive(_deep_files.delete(self._session(), file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        return await self._aio.drive(_deep_files.delete(self._session(), file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return self._sync.drive(_deep_files.upload(self._session(), files))

    async def aupload_files(
        self, files: list[tuple[str, bytes]]
    ) -> list[FileUploadResponse]:
        return await self._aio.drive(_deep_files.upload(self._session(), files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return self._sync.drive(_deep_files.download(self._session(), paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return await self._aio.drive(_deep_files.download(self._session(), paths))

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Both streams in the order in which they were written. `timeout` may only
        lower the profile's: what is above it means the profile's."""
        try:
            session_id = self._sync.drive(self._session())
            spec = _spec(session_id, command, timeout)
            try:
                return _answer(self._run(spec))
            except _errors.InvalidRequest as error:
                if not _asks_for_too_long(error):
                    raise
            return _answer(self._run(_spec(session_id, command, None)))
        except (_errors.SandglassError, ValueError) as error:
            return _refused(error)

    async def aexecute(
        self, command: str, *, timeout: int | None = None
    ) -> ExecuteResponse:
        try:
            session_id = await self._aio.drive(self._session())
            spec = _spec(session_id, command, timeout)
            try:
                return _answer(await self._arun(spec))
            except _errors.InvalidRequest as error:
                if not _asks_for_too_long(error):
                    raise
            return _answer(await self._arun(_spec(session_id, command, None)))
        except (_errors.SandglassError, ValueError) as error:
            return _refused(error)

    def _run(self, spec: Any) -> _exec.CommandResult:
        stream = _sync_exec.CommandStream(self._sync, spec)
        return _sync_exec.collect(stream, _MAX_OUTPUT_BYTES)

    async def _arun(self, spec: Any) -> _exec.CommandResult:
        stream = _aio_exec.AsyncCommandStream(self._aio, spec)
        return await _aio_exec.collect(stream, _MAX_OUTPUT_BYTES)

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        await self._aio.close()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except _errors.SandglassError:
            if kind is None:  # an error that is on its way says more
                raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            await self.aclose()
        except _errors.SandglassError:
            if kind is None:
                raise


class SandglassBackend(_Backend):
    """One sandbox, which the caller made and ends.

    The backend has connections of its own, to the same daemon; `close` closes them
    and leaves the sandbox as it is.
    """

    def __init__(self, sandbox: Sandbox | AsyncSandbox) -> None:
        if not isinstance(sandbox, Sandbox | AsyncSandbox):
            raise TypeError(
                "sandbox must be a sandglass.Sandbox or AsyncSandbox, not "
                f"{type(sandbox).__name__}"
            )
        connection = sandbox._connection
        super().__init__(connection.endpoint, connection.retry_for)
        self._sandbox = sandbox
        self._id = sandbox.id
        self._mine = False

    @classmethod
    def create(
        cls,
        language: str = "python",
        *,
        client: Client | None = None,
        **options: Unpack[SandboxOptions],
    ) -> Self:
        """With a new sandbox, which `close` and the end of a `with` delete."""
        backend = cls(Sandbox(language, client=client, **options))
        backend._mine = True
        return backend

    @property
    def id(self) -> str:
        return self._id

    @property
    def sandbox(self) -> Sandbox | AsyncSandbox:
        """For what deepagents has no word for: kernels, figures, forks."""
        return self._sandbox

    def _session(self) -> Steps[str]:
        yield from ()
        return self._id

    def close(self) -> None:
        self._sync.close()
        if self._mine and isinstance(self._sandbox, Sandbox):
            self._sandbox.close()

    async def aclose(self) -> None:
        try:
            if self._mine and isinstance(self._sandbox, Sandbox):
                # Not by its own `close`, which would hold up the loop.
                self._sandbox._mine = False
                await self._aio.call(_session.delete(self._id))
        except _errors.SessionGone:
            pass
        finally:
            await super().aclose()

    def __repr__(self) -> str:
        return f"<SandglassBackend {self._id}>"


class ThreadBackend(_Backend):
    """A sandbox for each conversation: for each `thread_id` of LangGraph's
    configuration, made with its first use.

    It has the label `label`, by which another process finds it again, until it
    expires (`idle_timeout`); then the thread has an empty one. Without a thread id
    there is nothing to tell conversations apart by, and calls raise RuntimeError.
    `close` closes the connections; the sandboxes stay until they expire.

    >>> agent = create_deep_agent(model="…", backend=ThreadBackend())
    >>> agent.invoke(…, {"configurable": {"thread_id": "7"}})
    """

    def __init__(
        self,
        language: str = "python",
        *,
        address: str | None = None,
        retry_for: float = 5.0,
        label: str = "deepagents-thread",
        **options: Unpack[SandboxOptions],
    ) -> None:
        super().__init__(resolve(address), retry_for)
        self._language = language
        self._label = label
        self._options = options
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        # What is wrong with the options is said here, and not in the first call.
        _session.create_request(language, **options)

    def _thread(self) -> str:
        from langgraph.config import get_config

        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:
            thread = None
        if thread is None or thread == "":
            raise RuntimeError(
                "ThreadBackend needs a thread id: call the agent with "
                '{"configurable": {"thread_id": "…"}}'
            )
        return str(thread)

    @property
    def id(self) -> str:
        """The thread's sandbox; empty while it has none."""
        with self._lock:
            return self._known.get(self._thread(), "")

    def _session(self) -> Steps[str]:
        thread = self._thread()
        with self._lock:
            known = self._known.get(thread)
        if known is not None:
            try:
                yield _session.named("GetSession", known)
                return known
            except _errors.SessionGone:
                pass  # the next takes its place
        options = dict(self._options)
        labels = {**(self._options.get("labels") or {}), self._label: _value(thread)}
        options["labels"] = labels
        info: SandboxInfo = yield _session.get_or_create(self._language, **options)  # type: ignore[arg-type]
        with self._lock:
            self._known[thread] = info.id
            while len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
        return info.id


def _value(thread: str) -> str:
    """The thread's name as a label, which takes less than LangGraph."""
    name = thread.encode(errors="surrogatepass")
    if len(name) <= 256 and thread.isprintable():
        return thread
    return f"sha256-{hashlib.sha256(name).hexdigest()}"


def _refused(error: Exception) -> ExecuteResponse:
    if isinstance(error, _errors.DaemonUnavailable):
        raise error
    return ExecuteResponse(output=f"Nothing ran: {error}", exit_code=None)


def _spec(session_id: str, command: str, timeout: int | None) -> Any:
    if timeout is not None and timeout > 0:
        return _exec.spec(session_id, command, merged=True, timeout=timeout)
    return _exec.spec(session_id, command, merged=True)


def _asks_for_too_long(error: _errors.InvalidRequest) -> bool:
    return any(field.endswith("wall_time") for field, _ in error.violations)


def _with_line(output: str, line: str) -> str:
    between = "" if not output or output.endswith("\n") else "\n"
    return f"{output}{between}[{line}]"


def _answer(result: _exec.CommandResult) -> ExecuteResponse:
    output, code = result.marked_output, result.exit_code
    if code is None or result.outcome not in (Outcome.OK, Outcome.NONZERO_EXIT):
        number = result.raw.signal.number
        if result.outcome in _BY_TIME:
            code = _TIMED_OUT
        elif code is None:
            own = result.outcome is Outcome.SIGNALED and number
            code = 128 + number if own else _KILLED
        output = _with_line(output, result.verdict)
    for note in _report.left_running(result.raw.evidence):
        output = _with_line(output, note)
    return ExecuteResponse(output=output, exit_code=code, truncated=result.truncated)
