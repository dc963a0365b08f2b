"""Client of sandglassd: runs code in sealed, timed, warm sandboxes.

`Client` runs programs by themselves, `Sandbox` is a computer that is kept;
`AsyncClient` and `AsyncSandbox` are the same for asyncio. `sandglass.langchain`
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
    NotFound,
    PermissionDenied,
    RunFailed,
    SandglassError,
    SessionGone,
)
from sandglass._exec import CommandEvent, CommandFailed, CommandResult
from sandglass._files import Downloaded, FileChange, FileInfo, GrepMatch, Uploaded
from sandglass._run import Outcome, RichResult, RunError, RunEvent, RunResult
from sandglass._session import SandboxInfo
from sandglass.client import Client, Sandbox

if TYPE_CHECKING:
    from sandglass.aio import AsyncClient, AsyncSandbox

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncSandbox",
    "Busy",
    "Cancelled",
    "Client",
    "CommandEvent",
    "CommandFailed",
    "CommandResult",
    "Conflict",
    "DaemonUnavailable",
    "DeadlineExceeded",
    "Downloaded",
    "FileChange",
    "FileError",
    "FileInfo",
    "GrepMatch",
    "InvalidRequest",
    "Limits",
    "NotFound",
    "Outcome",
    "PermissionDenied",
    "RichResult",
    "RunError",
    "RunEvent",
    "RunFailed",
    "RunResult",
    "Sandbox",
    "SandboxInfo",
    "SandglassError",
    "SessionGone",
    "Uploaded",
]


def __getattr__(name: str) -> Any:
    # Those who don't use asyncio don't pay for it.
    if name in ("AsyncClient", "AsyncSandbox"):
        from sandglass import aio

        return getattr(aio, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
