"""The synchronous client: `Client` for programs by themselves, `Sandbox` for a
computer that is kept. Both are thread-safe.

What a program may never use is imported with its first use: `import sandglass`
shall cost little more than `import grpc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sandglass import _errors, _run, _session
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
from sandglass._sync import Connection
from sandglass._sync_run import RunStream

if TYPE_CHECKING:
    from sandglass._convert import Seconds
    from sandglass._exec import (
        BackgroundOptions,
        CommandInfo,
        CommandOptions,
        CommandResult,
    )
    from sandglass._sync_exec import Command, CommandStream
    from sandglass._sync_files import Files
    from sandglass.v1 import policy_pb2, server_info_pb2


class Client:
    """A connection to a daemon, opened with the first call.

    `address` is "unix:/path", "127.0.0.1:PORT" or, by TLS, "HOST:PORT"; without, see
    `EndpointOptions`, which also says how to prove who calls. Calls that can't reach the daemon are made again for
    `retry_for` seconds, where that does no harm: a program by itself carries an id,
    so that a second try joins the first; what runs in a sandbox isn't repeated. A
    language that the daemon prepares for its first use is waited for up to five
    minutes, which the logger "sandglass" says; not with a `retry_for` of 0. While
    the daemon says that it has no room (`Busy` with its `retry_after`), calls are
    made again for `retry_busy_for` seconds.
    """

    def __init__(
        self,
        address: str | Endpoint | None = None,
        *,
        retry_for: float = 5.0,
        retry_busy_for: float = 0.0,
        **proof: Unpack[EndpointOptions],
    ) -> None:
        self._connection = Connection(address, retry_for, retry_busy_for, **proof)

    @property
    def address(self) -> str:
        return self._connection.address

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def run_code(
        self, code: str, language: str = "python", **options: Unpack[RunOptions]
    ) -> RunResult:
        """Runs one program, in a jail of its own, to its end. However it ends is an
        outcome in the result and no exception; see `RunOptions` for the rest.

        >>> with Client() as client:
        ...     result = client.run_code("print(6 * 7)", timeout=5)
        ...     print(result.stdout, result.verdict)
        """
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, **options)
        return self._connection.call(_run.op(request), deadline)

    def stream_code(
        self, code: str, language: str = "python", **options: Unpack[RunOptions]
    ) -> RunStream:
        """The same, with what happens as it happens.

        >>> with Client() as client, client.stream_code("print(1)") as run:
        ...     for event in run:
        ...         print(event.kind, event.text)
        ...     print(run.result.verdict)
        """
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, **options)
        return RunStream(self._connection, request, deadline)

    def sandbox(
        self, language: str = "python", **options: Unpack[SandboxOptions]
    ) -> Sandbox:
        """A new sandbox on this connection."""
        return Sandbox(language, client=self, **options)

    def sandboxes(self, **labels: str) -> list[SandboxInfo]:
        """The caller's sandboxes that have these labels, newest first."""
        return self._connection.drive(_session.sandboxes(labels))

    def info(self) -> server_info_pb2.GetServerInfoResponse:
        """What the daemon is and can do: languages, profiles, isolation, room."""
        return self._connection.call(_session.server_info())

    def runs(self, **labels: str) -> list[RunSummary]:
        """Runs that wait, go on, or ended a short while ago, newest first."""
        return self._connection.drive(_session.runs(labels))

    def cancel(self, run_id: str) -> None:
        """Stops a run, whose own call then answers CANCELLED."""
        self._connection.call(_session.cancel(run_id))

    def install(
        self, language: str, libraries: Sequence[str], *, profile: str = ""
    ) -> list[str]:
        """Installs libraries now, so that no run has to wait for them: what they
        are, with their versions as they were named."""
        return self._connection.call(_session.install(language, libraries, profile))

    def approvals(self) -> list[policy_pb2.Approval]:
        """What waits for a person, the oldest first."""
        return self._connection.call(_session.approvals())

    def approval(self, approval_id: str) -> policy_pb2.Approval:
        """The same of one, with the program's text."""
        return self._connection.call(_session.approval(approval_id))

    def approve(
        self, approval_id: str, comment: str = "", *, for_session: bool = False
    ) -> policy_pb2.Approval:
        """Lets its run start, once; only approvers may."""
        return self._connection.call(
            _session.approve(approval_id, comment, for_session)
        )

    def deny(self, approval_id: str, comment: str = "") -> policy_pb2.Approval:
        return self._connection.call(_session.deny(approval_id, comment))

    def __repr__(self) -> str:
        return f"<Client of {self.address}>"


class Sandbox:
    """A jail that is kept: its files, processes and what its code has defined stay
    from one run to the next. It ends with its `with`, when it is closed, and by
    itself when it isn't used.

    >>> with Sandbox() as box:
    ...     box.run_code("x = 20")
    ...     print(box.run_code("x + 1").text)
    ...     print(box.execute("ls -l").stdout)
    ...     box.files.write("data.csv", "a,b\\n1,2\\n")

    `language` is what runs that name none are in. Without `client` it has one of
    its own, to the daemon that `DaemonOptions` among these say.
    """

    def __init__(
        self,
        language: str = "python",
        *,
        client: Client | None = None,
        **options: Unpack[SandboxArguments],
    ) -> None:
        daemon, made = split(options, client)
        self._begin(client, daemon)
        try:
            op = _session.create(language, **made)
            self._take(self._connection.call(op), mine=True)
        except BaseException:
            self._close_client()
            raise

    def _begin(
        self, client: Client | None, daemon: DaemonOptions | None = None
    ) -> None:
        self._owns_client = client is None
        self.client = Client(**(daemon or {})) if client is None else client
        self._connection = self.client._connection

    def _take(self, info: SandboxInfo, *, mine: bool) -> None:
        self.id = info.id
        self._mine = mine
        self._files: Files | None = None

    @property
    def files(self) -> Files:
        """Its files."""
        if self._files is None:
            from sandglass._sync_files import Files

            self._files = Files(self._connection, self.id)
        return self._files

    @classmethod
    def connect(
        cls,
        sandbox_id: str,
        *,
        client: Client | None = None,
        **daemon: Unpack[DaemonOptions],
    ) -> Self:
        """One that is there already; closing this object leaves it there."""
        return cls._of(_session.named("GetSession", sandbox_id), client, daemon)

    @classmethod
    def get_or_create(
        cls,
        language: str = "python",
        *,
        client: Client | None = None,
        **options: Unpack[SandboxArguments],
    ) -> Self:
        """The one with these `labels`, made when there is none; closing this object
        leaves it there."""
        daemon, made = split(options, client)
        return cls._of(_session.get_or_create(language, **made), client, daemon)

    @classmethod
    def _of(
        cls, op: Op[SandboxInfo], client: Client | None, daemon: DaemonOptions
    ) -> Self:
        box = cls.__new__(cls)
        box._begin(client, daemon)
        try:
            box._take(box._connection.call(op), mine=False)
        except BaseException:
            box._close_client()
            raise
        return box

    def run_code(
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
        return self._connection.call(op, deadline)

    def stream_code(
        self,
        code: str,
        language: str | None = None,
        *,
        context: str = "",
        **options: Unpack[RunOptions],
    ) -> RunStream:
        """The same, with what happens as it happens."""
        deadline = options.pop("deadline", None)
        request = _run.request(code, language, self.id, context, **options)
        return RunStream(self._connection, request, deadline)

    def execute(
        self,
        command: str | Sequence[str],
        *,
        max_output_bytes: int = 16 << 20,
        **options: Unpack[CommandOptions],
    ) -> CommandResult:
        """Runs a command to its end: a line for the shell, or a program with its
        arguments. However it ends is in the result."""
        from sandglass._sync_exec import collect

        return collect(self.stream_command(command, **options), max_output_bytes)

    def stream_command(
        self, command: str | Sequence[str], **options: Unpack[CommandOptions]
    ) -> CommandStream:
        """The same, with its output as it comes."""
        from sandglass import _exec
        from sandglass._sync_exec import CommandStream

        spec = _exec.spec(self.id, command, **options)
        stdin = _exec.stdin_of(options)
        return CommandStream(self._connection, spec, stdin=stdin)

    def start(
        self, command: str | Sequence[str], **options: Unpack[BackgroundOptions]
    ) -> Command:
        """Starts a command in the background."""
        from sandglass import _exec
        from sandglass._sync_exec import Command

        spec = _exec.background_spec(self.id, command, **options)
        self._connection.call(_exec.begin(spec))
        started = Command(self._connection, self.id, spec.exec_id)
        if (stdin := _exec.stdin_of(options)) is not None:
            started.write(stdin, close=not options.get("open_stdin"))
        return started

    def commands(self) -> list[CommandInfo]:
        """Its commands, newest first: those that go on, and those that ended a short
        while ago."""
        from sandglass import _exec

        return self._connection.call(_exec.commands(self.id))

    def command(self, command_id: str) -> Command:
        """One that was started before."""
        from sandglass._sync_exec import Command

        return Command(self._connection, self.id, command_id)

    def info(self) -> SandboxInfo:
        """What it is now; doesn't count as use."""
        return self._connection.call(_session.named("GetSession", self.id))

    def update(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        idle_timeout: Seconds | None = None,
        max_age: Seconds | None = None,
    ) -> SandboxInfo:
        """Changes what is given."""
        op = _session.update(self.id, labels, idle_timeout, max_age)
        return self._connection.call(op)

    def pause(self) -> None:
        """Its processes stand still until it is resumed or used."""
        self._connection.call(_session.named("PauseSession", self.id))

    def resume(self) -> None:
        self._connection.call(_session.named("ResumeSession", self.id))

    def interrupt(self, context: str = "") -> bool:
        """As Ctrl-C: what runs in the kernel ends, its state stays. False when
        nothing ran."""
        return self._connection.call(_session.interrupt(self.id, context))

    def restart(self, context: str = "") -> None:
        """Ends a kernel; the next run begins with an empty state."""
        self._connection.call(_session.named("RestartKernel", self.id, context=context))

    def fork(self, count: int = 1) -> list[Sandbox]:
        """Sandboxes that begin with the files of this one."""
        children = []
        for info in self._connection.call(_session.fork(self.id, count)):
            child = Sandbox.__new__(Sandbox)
            child._begin(self.client)
            child._take(info, mine=True)
            children.append(child)
        return children

    def delete(self) -> None:
        """Ends all that runs in it and forgets its files."""
        self._connection.call(_session.delete(self.id))

    def close(self) -> None:
        """Deletes it, if this object made it; else only lets go of it."""
        try:
            if self._mine:
                self._mine = False
                self.delete()
        except _errors.SessionGone:
            pass
        finally:
            self._close_client()

    def _close_client(self) -> None:
        if self._owns_client:
            self.client.close()

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

    def __repr__(self) -> str:
        return f"<Sandbox {self.id}>"
