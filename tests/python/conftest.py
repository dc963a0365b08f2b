"""A real sandglassd for the tests of the Python package.

Needs root, and the build directory in $SANDGLASS_TEST_BUILD.
"""

import collections.abc
import itertools
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
import sandglass

BUILD = pathlib.Path(os.environ["SANDGLASS_TEST_BUILD"])
START_TIMEOUT = 240  # the first one of all prepares the languages


_daemons = itertools.count()


def own_ids() -> dict:
    """For a daemon beside others, as tests/support/daemon/daemon.cc has it: ids that no
    other has, but for the user, who owns the cache that all share."""
    default = 1879048192
    number = os.getpid() * 8 + next(_daemons) % 8
    ids: dict = {"uid_base": default + (1 + number % 15999) * 131072}
    try:
        pwd.getpwnam("sandglass")
    except KeyError:
        ids["user"] = f"{default - 1}:{default - 1}"
    return ids


class Daemon:
    """A sandglassd in a directory of its own, which can be started again."""

    def __init__(
        self, config: dict | None = None, profiles: dict[str, dict] | None = None
    ) -> None:
        if os.geteuid() != 0:
            pytest.fail("these tests start a real sandglassd: run them as root")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sandglass-test-"))
        self.directory.chmod(0o755)
        self.address = f"unix:{self.directory}/run/sock"
        # Only one daemon at a time may use a directory of libraries.
        libraries = {"dir": str(self.directory / "libraries")}
        defaults = {"canaries": False, "libraries": libraries, **own_ids()}
        self.config = {**defaults, **(config or {})}
        self.policy = None
        if profiles:
            self.policy = self.directory / "policy"
            source = pathlib.Path(__file__).parents[2] / "policy" / "data"
            shutil.copytree(source, self.policy)
            for name, profile in profiles.items():
                text = json.dumps(profile)
                (self.policy / "profiles" / f"{name}.json").write_text(text)
        self.process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        config = self.directory / "config.json"
        config.write_text(json.dumps(self.config))
        command = [
            str(BUILD / "bin" / "sandglassd"),
            *("--listen", self.address),
            *("--state-dir", str(self.directory / "state")),
            *("--cache-dir", str(BUILD / "test-cache")),
            *("--config", str(config)),
        ]
        if self.policy:
            command += ["--policy-dir", str(self.policy)]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_TIMEOUT
        with sandglass.Client(self.address, retry_for=0) as client:
            while time.monotonic() < end:
                if self.process.poll() is not None:
                    break
                try:
                    info = client.info()
                except sandglass.SandglassError:
                    time.sleep(0.02)
                    continue
                if not any(language.preparing for language in info.languages):
                    return
                time.sleep(0.1)
        pytest.fail(f"the daemon doesn't start; its log:\n{self.log()}")

    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def remove(self) -> None:
        if self.process.poll() is None:
            self.stop()
        # What a daemon that was killed left.
        subprocess.run(
            [
                *(BUILD / "bin" / "sandglassd", "--sweep"),
                *("--state-dir", self.directory / "state"),
            ],
            check=False,
            capture_output=True,
        )
        shutil.rmtree(self.directory, ignore_errors=True)


def skip_without_registry(words: str) -> None:
    """For a test whose libraries could not be installed; a failure in CI."""
    if "LIBRARIES_NOT_INSTALLED" in words:
        if os.environ.get("SANDGLASS_MUST_RUN") == "1":
            pytest.fail(words)
        pytest.skip(words)


@pytest.fixture(scope="session")
def daemon() -> collections.abc.Iterator[Daemon]:
    """One that all share, at the end of which it must end well."""
    shared = Daemon()
    yield shared
    code = shared.stop()
    log = shared.log()
    shared.remove()
    assert code == 0, log


@pytest.fixture
def make_daemon() -> collections.abc.Iterator[collections.abc.Callable[..., Daemon]]:
    """Makes daemons of the test's own."""
    made = []

    def make(**options: object) -> Daemon:
        made.append(Daemon(**options))
        return made[-1]

    yield make
    for one in made:
        one.remove()


@pytest.fixture(scope="session")
def client(daemon: Daemon) -> collections.abc.Iterator[sandglass.Client]:
    with sandglass.Client(daemon.address) as shared:
        yield shared
