"""The same client for asyncio, over grpc.aio: no threads, and a task that is
cancelled cancels its run."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from sandglass import _errors, _exec, _run, _session
from sandglass._aio import AioConnection
from sandglass._aio_exec import AsyncCommand, AsyncCommandStream, collect
from sandglass._aio_files import AsyncFiles
from sandglass._aio_run import AsyncRunStream
from sandglass._convert import Seconds
from sandglass._exec import (
    BackgroundOptions,
    CommandInfo,
    CommandOptions,
    CommandResult,
)
from sandglass._endpoint import DaemonOptions, Endpoint, EndpointOptions
from sandglass._op import Op
from sandglass._run import RunOptions, RunResult
from sandglass._session import (
    RunSummary,
    SandboxArguments,
    SandboxInfo,
    SandboxOptions,
    split,
)

if TYPE_CHECKING:
    from sandglass.v1 import policy_pb2, server_info_pb2


class AsyncClient:
    """As `Client`, awaited. It may be made outside of an event loop, and used in
    several, one after another."""

    def __init__(
        self,
        address: str | Endpoint | None = None,
        *,
        retry_for: float = 5.0,
        retry_busy_for: float = 0.0,
        **proof: Unpack[EndpointOptions],
    ) -> None:
        self._connection = AioConnection(address, retry_for, retry_busy_for, **proof)

    @property
    def address(self) -> str:
        return self._connection.address

    async def close(self) -> None:
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()

    async def run_code(
        self, code: str, language: str = "python", **options: Unpack[RunOptions]
    ) -> RunResult:
        """Runs one program, in a jail of its own, to its end. However it ends is an
        outcome in the result and no exception; see `RunOptions` for the rest.

        >>> async with AsyncClient() as client:
        ...     result = await client.run_code("print(6 * 7)", timeout=5)
        ...     print(result.stdout, result.verdict)
        """
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, **options)
        return await self._connection.call(_run.op(request), deadline)

    def stream_code(
        self, code: str, language: str = "python", **options: Unpack[RunOptions]
    ) -> AsyncRunStream:
        """The same, with what happens as it happens.

        >>> async with AsyncClient() as client:
        ...     async with client.stream_code("print(1)") as run:
        ...         async for event in run:
        ...             print(event.kind, event.text)
        ...         print((await run.result).verdict)
        """
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, **options)
        return AsyncRunStream(self._connection, request, deadline)

    def sandbox(
        self, language: str = "python", **options: Unpack[SandboxOptions]
    ) -> AsyncSandbox:
        """A new sandbox on this connection."""
        return AsyncSandbox(language, client=self, **options)

    async def sandboxes(self, **labels: str) -> list[SandboxInfo]:
        """The caller's sandboxes that have these labels, newest first."""
        return await self._connection.drive(_session.sandboxes(labels))

    async def info(self) -> server_info_pb2.GetServerInfoResponse:
        """What the daemon is and can do: languages, profiles, isolation, room."""
        return await self._connection.call(_session.server_info())

    async def runs(self, **labels: str) -> list[RunSummary]:
        """Runs that wait, go on, or ended a short while ago, newest first."""
        return await self._connection.drive(_session.runs(labels))

    async def cancel(self, run_id: str) -> None:
        """Stops a run, whose own call then answers CANCELLED."""
        await self._connection.call(_session.cancel(run_id))

    async def install(
        self, language: str, libraries: Sequence[str], *, profile: str = ""
    ) -> list[str]:
        """Installs libraries now, so that no run has to wait for them: what they
        are, with their versions as they were named."""
        return await self._connection.call(
            _session.install(language, libraries, profile)
        )

    async def approvals(self) -> list[policy_pb2.Approval]:
        """What waits for a person, the oldest first."""
        return await self._connection.call(_session.approvals())

    async def approval(self, approval_id: str) -> policy_pb2.Approval:
        """The same of one, with the program's text."""
        return await self._connection.call(_session.approval(approval_id))

    async def approve(
        self, approval_id: str, comment: str = "", *, for_session: bool = False
    ) -> policy_pb2.Approval:
        """Lets its run start, once; only approvers may."""
        return await self._connection.call(
            _session.approve(approval_id, comment, for_session)
        )

    async def deny(self, approval_id: str, comment: str = "") -> policy_pb2.Approval:
        return await self._connection.call(_session.deny(approval_id, comment))

    def __repr__(self) -> str:
        return f"<AsyncClient of {self.address}>"


class AsyncSandbox:
    """As `Sandbox`, awaited. It is there once it is entered or awaited:

    >>> async with AsyncSandbox() as box:
    ...     await box.run_code("x = 20")
    ...     print((await box.run_code("x + 1")).text)
    ...     print((await box.execute("ls -l")).stdout)

    >>> box = await AsyncSandbox()
    >>> await box.close()
    """

    def __init__(
        self,
        language: str = "python",
        *,
        client: AsyncClient | None = None,
        **options: Unpack[SandboxArguments],
    ) -> None:
        daemon, made = split(options, client)
        op = _session.create(language, **made)
        self._prepare(op, client, daemon, mine=True)

    def _prepare(
        self,
        op: Op[SandboxInfo],
        client: AsyncClient | None,
        daemon: DaemonOptions | None = None,
        *,
        mine: bool,
    ) -> None:
        self._owns_client = client is None
        self.client = AsyncClient(**(daemon or {})) if client is None else client
        self._connection = self.client._connection
        self._op: Op[SandboxInfo] | None = op
        self._mine = mine
        self._info: SandboxInfo | None = None

    async def _make(self) -> Self:
        if (op := self._op) is not None:
            try:
                info = await self._connection.call(op)
            except BaseException:
                await self._close_client()
                raise
            self._op = None
            self._take(info)
        return self

    def _take(self, info: SandboxInfo) -> None:
        self._info = info
        self._files = AsyncFiles(self._connection, info.id)

    def __await__(self) -> Generator[Any, None, Self]:
        return self._make().__await__()

    def _made(self) -> SandboxInfo:
        if self._info is None:
            raise RuntimeError(
                "the sandbox isn't made yet: write `async with AsyncSandbox(…) as "
                "box`, or `box = await AsyncSandbox(…)`"
            )
        return self._info

    @property
    def id(self) -> str:
        return self._made().id

    @property
    def files(self) -> AsyncFiles:
        self._made()
        return self._files

    @classmethod
    def connect(
        cls,
        sandbox_id: str,
        *,
        client: AsyncClient | None = None,
        **daemon: Unpack[DaemonOptions],
    ) -> Self:
        """One that is there already; closing this object leaves it there."""
        return cls._of(_session.named("GetSession", sandbox_id), client, daemon)

    @classmethod
    def get_or_create(
        cls,
        language: str = "python",
        *,
        client: AsyncClient | None = None,
        **options: Unpack[SandboxArguments],
    ) -> Self:
        """The one with these `labels`, made when there is none; closing this object
        leaves it there."""
        daemon, made = split(options, client)
        return cls._of(_session.get_or_create(language, **made), client, daemon)

    @classmethod
    def _of(
        cls, op: Op[SandboxInfo], client: AsyncClient | None, daemon: DaemonOptions
    ) -> Self:
        box = cls.__new__(cls)
        box._prepare(op, client, daemon, mine=False)
        return box

    async def run_code(
        self,
        code: str,
        language: str | None = None,
        *,
        context: str = "",
        **options: Unpack[RunOptions],
    ) -> RunResult:
        """Runs a cell in the kernel of `context`, which keeps its state; another
        language than the sandbox's has a kernel of its own. Languages without
        kernels run as programs over the sandbox's files."""
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, self.id, context, **options)
        op = _run.op(request)
        return await self._connection.call(op, deadline)

    def stream_code(
        self,
        code: str,
        language: str | None = None,
        *,
        context: str = "",
        **options: Unpack[RunOptions],
    ) -> AsyncRunStream:
        """The same, with what happens as it happens."""
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, self.id, context, **options)
        return AsyncRunStream(self._connection, request, deadline)

    async def execute(
        self,
        command: str | Sequence[str],
        *,
        max_output_bytes: int = 16 << 20,
        **options: Unpack[CommandOptions],
    ) -> CommandResult:
        """Runs a command to its end: a line for the shell, or a program with its
        arguments. However it ends is in the result."""
        return await collect(self.stream_command(command, **options), max_output_bytes)

    def stream_command(
        self, command: str | Sequence[str], **options: Unpack[CommandOptions]
    ) -> AsyncCommandStream:
        """The same, with its output as it comes."""
        spec = _exec.spec(self.id, command, **options)
        stdin = _exec.stdin_of(options)
        return AsyncCommandStream(self._connection, spec, stdin=stdin)

    async def start(
        self, command: str | Sequence[str], **options: Unpack[BackgroundOptions]
    ) -> AsyncCommand:
        """Starts a command in the background."""
        spec = _exec.background_spec(self.id, command, **options)
        await self._connection.call(_exec.begin(spec))
        started = AsyncCommand(self._connection, self.id, spec.exec_id)
        if (stdin := _exec.stdin_of(options)) is not None:
            await started.write(stdin, close=not options.get("open_stdin"))
        return started

    async def commands(self) -> list[CommandInfo]:
        """Its commands, newest first: those that go on, and those that ended a short
        while ago."""
        return await self._connection.call(_exec.commands(self.id))

    def command(self, command_id: str) -> AsyncCommand:
        """One that was started before."""
        return AsyncCommand(self._connection, self.id, command_id)

    async def info(self) -> SandboxInfo:
        """What it is now; doesn't count as use."""
        return await self._connection.call(_session.named("GetSession", self.id))

    async def update(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        idle_timeout: Seconds | None = None,
        max_age: Seconds | None = None,
    ) -> SandboxInfo:
        """Changes what is given."""
        op = _session.update(self.id, labels, idle_timeout, max_age)
        return await self._connection.call(op)

    async def pause(self) -> None:
        """Its processes stand still until it is resumed or used."""
        await self._connection.call(_session.named("PauseSession", self.id))

    async def resume(self) -> None:
        await self._connection.call(_session.named("ResumeSession", self.id))

    async def interrupt(self, context: str = "") -> bool:
        """As Ctrl-C: what runs in the kernel ends, its state stays. False when
        nothing ran."""
        return await self._connection.call(_session.interrupt(self.id, context))

    async def restart(self, context: str = "") -> None:
        """Ends a kernel; the next run begins with an empty state."""
        await self._connection.call(
            _session.named("RestartKernel", self.id, context=context)
        )

    async def fork(self, count: int = 1) -> list[AsyncSandbox]:
        """Sandboxes that begin with the files of this one."""
        children = []
        for info in await self._connection.call(_session.fork(self.id, count)):
            child = AsyncSandbox.__new__(AsyncSandbox)
            child._prepare(
                _session.named("GetSession", info.id), self.client, mine=True
            )
            child._op = None
            child._take(info)
            children.append(child)
        return children

    async def delete(self) -> None:
        """Ends all that runs in it and forgets its files."""
        await self._connection.call(_session.delete(self.id))

    async def close(self) -> None:
        """Deletes it, if this object made it; else only lets go of it."""
        try:
            if self._mine and self._info is not None:
                self._mine = False
                await self.delete()
        except _errors.SessionGone:
            pass
        finally:
            await self._close_client()

    async def _close_client(self) -> None:
        if self._owns_client:
            await self.client.close()

    async def __aenter__(self) -> Self:
        return await self._make()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except _errors.SandglassError:
            if kind is None:  # an error that is on its way says more
                raise

    def __repr__(self) -> str:
        return f"<AsyncSandbox {self._info.id if self._info else 'not made'}>"
