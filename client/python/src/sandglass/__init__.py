"""Client of sandglassd: runs code in sealed, timed, warm sandboxes.

`run` runs a program, and needs nothing beforehand. `Client` runs programs by
themselves, `Sandbox` is a computer that is kept; `AsyncClient` and `AsyncSandbox` are the same for asyncio. `sandglass.langchain`
has a tool for LangChain's agents, `sandglass.deepagents` a backend for deepagents.
"""

from typing import TYPE_CHECKING, Any

from sandglass._convert import Limits
from sandglass._errors import (
    Busy,
    Cancelled,
    Conflict,
    DaemonUnavailable,
    DeadlineExceeded,
    FileError,
    InvalidRequest,
    MessageTooLarge,
    NotFound,
    PermissionDenied,
    RunFailed,
    SandglassError,
    SessionGone,
)
from sandglass._run import (
    FetchedFile,
    Outcome,
    RichResult,
    RunError,
    RunEvent,
    RunOptions,
    RunResult,
)
from sandglass._session import (
    RunState,
    RunSummary,
    SandboxInfo,
    SandboxOptions,
)
from sandglass._version import __version__ as __version__
from sandglass.client import Client, Sandbox

if TYPE_CHECKING:
    from sandglass._embedded import run
    from sandglass._exec import (
        BackgroundOptions,
        CommandEnd,
        CommandEvent,
        CommandFailed,
        CommandInfo,
        CommandOptions,
        CommandResult,
    )
    from sandglass._files import (
        Downloaded,
        FileChange,
        FileInfo,
        GrepMatch,
        Uploaded,
    )
    from sandglass.aio import AsyncClient, AsyncSandbox

# Imported with their first use; see `client`.
_LATE = {
    "AsyncClient": "aio",
    "AsyncSandbox": "aio",
    "BackgroundOptions": "_exec",
    "CommandEnd": "_exec",
    "CommandEvent": "_exec",
    "CommandFailed": "_exec",
    "CommandInfo": "_exec",
    "CommandOptions": "_exec",
    "CommandResult": "_exec",
    "Downloaded": "_files",
    "FileChange": "_files",
    "FileInfo": "_files",
    "GrepMatch": "_files",
    "Uploaded": "_files",
    "run": "_embedded",
}

__all__ = [
    "AsyncClient",
    "AsyncSandbox",
    "BackgroundOptions",
    "Busy",
    "Cancelled",
    "Client",
    "CommandEnd",
    "CommandEvent",
    "CommandFailed",
    "CommandInfo",
    "CommandOptions",
    "CommandResult",
    "Conflict",
    "DaemonUnavailable",
    "DeadlineExceeded",
    "Downloaded",
    "FetchedFile",
    "FileChange",
    "FileError",
    "FileInfo",
    "GrepMatch",
    "InvalidRequest",
    "Limits",
    "MessageTooLarge",
    "NotFound",
    "Outcome",
    "PermissionDenied",
    "RichResult",
    "RunError",
    "RunEvent",
    "RunFailed",
    "RunOptions",
    "RunResult",
    "RunState",
    "RunSummary",
    "Sandbox",
    "SandboxInfo",
    "SandboxOptions",
    "SandglassError",
    "SessionGone",
    "Uploaded",
    "run",
]


def __getattr__(name: str) -> Any:
    if (module := _LATE.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"sandglass.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
