"""`sandglass.run`, and the daemon that it starts."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
import sandglass
from conftest import BUILD, own_ids
from sandglass import _address, _embedded

PROGRAM = "import sandglass; print(sandglass.run('print(6 * 7)').stdout.strip())"


@pytest.fixture
def fresh(monkeypatch):
    """As if nothing had been run yet."""
    monkeypatch.setattr(_embedded, "_client", None)
    monkeypatch.delenv("SANDGLASS_ADDRESS", raising=False)


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package sandglass-daemon whose daemons are in a directory of the test's."""
    tmp_path.chmod(0o755)
    config = tmp_path / "config.json"
    libraries = {"dir": str(tmp_path / "libraries")}
    config.write_text(
        json.dumps({"canaries": False, "libraries": libraries, **own_ids()})
    )
    folder = tmp_path / "bundle" / "bin"
    folder.mkdir(parents=True)
    state = tmp_path / "state"
    program = folder / "sandglass"
    # "up" with "--" and options of the daemon, or "down".
    program.write_text(
        f"""#!/bin/sh
command=$1
shift
[ "$command" != up ] || set -- "$@" --config {config} --cache-dir {BUILD}/test-cache
exec {BUILD}/bin/sandglass "$command" --state-dir {state} "$@"
"""
    )
    program.chmod(0o755)
    (tmp_path / "sandglass_daemon.py").write_text(
        f"import pathlib\ndef bundle(): return pathlib.Path({str(tmp_path)!r}) / 'bundle'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    address = f"unix:{state}/sandglass.sock"
    monkeypatch.setattr(_address, "_usual", lambda: address)
    yield tmp_path
    subprocess.run([program, "down", "--now"], check=True)
    assert not state.exists()
    sys.modules.pop("sandglass_daemon", None)


def test_one_is_started_where_none_answers(fresh, package):
    assert sandglass.run("print(6 * 7)").stdout == "42\n"
    assert sandglass.run("echo hi", "bash", timeout=5).stdout == "hi\n"
    # It ends when it is idle, and another takes its place.
    log = (package / "state-up" / "log").read_text()
    assert "listening on" in log
    subprocess.run([package / "bundle/bin/sandglass", "down"], check=True)
    assert sandglass.run("print(7)").stdout == "7\n"


def test_it_is_looked_for_once_a_second(fresh, package, monkeypatch):
    looks = []
    answers = _embedded._answers
    monkeypatch.setattr(
        _embedded, "_answers", lambda address: looks.append(1) or answers(address)
    )
    sandglass.run("1")
    looks.clear()
    began = time.monotonic()
    for _ in range(100):
        sandglass.run("1")
    assert len(looks) <= time.monotonic() - began + 1


def test_processes_share_it(fresh, package):
    address = _address._usual()
    script = (
        f"from sandglass import _address; _address._usual = lambda: {address!r}; "
        + PROGRAM
    )
    environment = {**os.environ, "PYTHONPATH": str(package)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    assert [each.communicate()[0] for each in started] == [b"42\n"] * 4
    assert (package / "state-up" / "log").read_text().count("listening on") == 1


def test_a_child_has_its_own_connection(fresh, package):
    assert sandglass.run("print(1)").stdout == "1\n"
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(write, sandglass.run("print(2)").stdout.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 10) == b"2\n"


def test_why_none_could_be_started_is_said(fresh, package):
    (package / "config.json").write_text('{"pool": 1}')
    with pytest.raises(sandglass.DaemonUnavailable, match="/pool"):
        sandglass.run("print(1)")


def test_it_may_be_forbidden(fresh, package, monkeypatch):
    monkeypatch.setenv("SANDGLASS_EMBEDDED", "0")
    with pytest.raises(sandglass.DaemonUnavailable):
        sandglass.run("print(1)")
    assert not (package / "state-up").exists()


def test_without_the_package_its_name_is_said(fresh, monkeypatch, tmp_path):
    monkeypatch.setattr(_address, "_usual", lambda: f"unix:{tmp_path}/none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sandglass.DaemonUnavailable, match=r"sandglass\[daemon\]"):
        sandglass.run("print(1)")


@pytest.mark.parametrize(
    ("system", "library", "said"),
    [
        ("darwin", ("", ""), "runs on Linux, and this is darwin"),
        ("linux", ("musl", "1.2.5"), "this has musl 1.2.5; start a daemon on another"),
        ("linux", ("", ""), "this has another C library"),
        ("linux", ("glibc", "2.31"), "needs glibc 2.36 or newer, and this has glibc"),
        ("linux", ("glibc", "2.41"), "pip install 'sandglass[daemon]'"),
    ],
)
def test_where_no_daemon_runs_it_says_where_one_does(
    fresh, monkeypatch, tmp_path, system, library, said
):
    monkeypatch.setattr(_address, "_usual", lambda: f"unix:{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_embedded.sys, "platform", system)
    monkeypatch.setattr(_embedded.platform, "libc_ver", lambda: library)
    with pytest.raises(sandglass.DaemonUnavailable, match=re.escape(said)):
        sandglass.run("print(1)")


def test_a_daemon_that_was_named_is_meant(fresh, package, daemon, monkeypatch):
    monkeypatch.setenv("SANDGLASS_ADDRESS", daemon.address)
    assert sandglass.run("print(3)").stdout == "3\n"
    assert not (package / "state-up").exists()


def test_the_bundle_is_a_wheel(tmp_path):
    """As deploy/bundle.sh packs it, with as little in it as there can be."""
    top = tmp_path / "sandglass-1.2.3-linux-x86_64"
    (top / "bin").mkdir(parents=True)
    (top / "bin/sandglass").write_text("#!/bin/sh\necho \"$@\"\n")
    (top / "bin/sandglass").chmod(0o755)
    for name in ("README.md", "LICENSE", "THIRD-PARTY-NOTICES"):
        (top / name).write_text(name)
    (top / "sandglass").symlink_to("bin/sandglass")
    tool = pathlib.Path(__file__).parents[3] / "deploy/bundle/wheel.py"
    wheels = []
    for out in ("a", "b"):
        (tmp_path / out).mkdir()
        subprocess.run(
            [sys.executable, tool, top, "1700000000", tmp_path / out], check=True
        )
        (wheel,) = (tmp_path / out).iterdir()
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]
    target = tmp_path / "target"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
         "--platform", "manylinux_2_36_x86_64", "--target", target, wheel],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", "import sandglass_daemon as d; d.main()", "x", "y z"],
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "x y z\n"
