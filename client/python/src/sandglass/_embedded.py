"""`sandglass.run`: a program in one line, with a daemon of this user's own where
none answers."""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from typing import Unpack

from sandglass import _address, _endpoint
from sandglass._errors import DaemonUnavailable
from sandglass._run import RunOptions, RunResult
from sandglass.client import Client

# A daemon that was started here ends when nobody has used it for so long.
_IDLE = "10m"
# For so many seconds a daemon that answered is taken to be there: each look is a
# connection, of which a caller has only so many.
_TRUST = 1.0

_lock = threading.Lock()
_client: Client | None = None
_client_pid = 0
_seen = 0.0  # when it answered, by time.monotonic()


def run(
    code: str, language: str = "python", **options: Unpack[RunOptions]
) -> RunResult:
    """Runs one program, in a jail of its own, to its end, as `Client.run_code` does.

    It needs no daemon beforehand: where none answers, and the package
    `sandglass-daemon` is there (`pip install sandglass[daemon]`), one is started for
    this user, which serves all processes of the user and ends when none has used it
    for ten minutes. That may be forbidden by SANDGLASS_EMBEDDED=0, and isn't done
    where SANDGLASS_ADDRESS or a context says which daemon is meant.

    >>> import sandglass
    >>> print(sandglass.run("print(6 * 7)").stdout)
    """
    global _seen
    try:
        return _connected().run_code(code, language, **options)
    except DaemonUnavailable:
        if not _may_start() or _answers(_endpoint.resolve().address):
            raise
    # It has gone since it was looked for.
    _seen = 0.0
    return _connected().run_code(code, language, **options)


def _connected() -> Client:
    global _client, _client_pid, _seen
    with _lock:
        now = time.monotonic()
        # gRPC's channels don't outlive a fork.
        if _client is not None and _client_pid == os.getpid():
            if now - _seen < _TRUST:
                return _client
            if _answers(_client.address):
                _seen = now
                return _client
            _client.close()
        if _may_start() and not _answers(_endpoint.resolve().address):
            _start()
        _client, _client_pid, _seen = Client(), os.getpid(), time.monotonic()
        return _client


def _answers(address: str) -> bool:
    """Whether somebody listens there. Where that can't be told, a call will."""
    path = _address.unix_path(address)
    if not path:
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except PermissionError:
            return True
        except OSError:
            return False
    return True


def _may_start() -> bool:
    return (
        not os.environ.get("SANDGLASS_ADDRESS")
        and _address.is_usual(_endpoint.resolve().address)
        and os.environ.get("SANDGLASS_EMBEDDED", "1") != "0"
    )


def _start() -> None:
    program = _program()
    if program is None:
        raise DaemonUnavailable(
            f"no daemon answers, and none can be started: {_what_would_help()}",
            code="UNAVAILABLE",
        )
    done = subprocess.run(
        [program, "up", "--", "--end-when-idle", _IDLE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise DaemonUnavailable(
            f"no daemon answers, and one could not be started: {done.stderr.strip()}",
            code="UNAVAILABLE",
        )


def _what_would_help() -> str:
    if sys.platform != "linux":
        return (
            f"it runs on Linux, and this is {sys.platform}; start one there and "
            "name it in SANDGLASS_ADDRESS"
        )
    library, version = platform.libc_ver()
    if library != "glibc" or _numbers(version) < (2, 36):
        found = f"{library} {version}".strip() or "another C library"
        return (
            "the package sandglass-daemon needs glibc 2.36 or newer, and this has "
            f"{found}; start a daemon on another machine or in a container and "
            "name it in SANDGLASS_ADDRESS"
        )
    return "run `pip install 'sandglass[daemon]'`, or start one: sandglass up"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _program() -> str | None:
    """The command line tool, where it comes with a daemon."""
    try:
        import sandglass_daemon  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return shutil.which("sandglass")
    bundle: pathlib.Path = sandglass_daemon.bundle()
    return str(bundle / "bin" / "sandglass")
