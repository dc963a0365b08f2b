"""The package as one that is installed, built, typed, read."""

import os
import pathlib
import pydoc
import subprocess
import sys
import venv
import zipfile

import pytest
import sandglass
from sandglass import _convert

PACKAGE = pathlib.Path(__file__).parents[3] / "client" / "python"


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A clone as git has it, since a build writes into it."""
    top = tmp_path_factory.mktemp("clone")
    root = PACKAGE.parents[1]
    for part in ("client/python", "proto", "CMakeLists.txt"):
        files = run(
            "git",
            "-c",
            f"safe.directory={root}",
            "-C",
            root,
            "ls-files",
            "-co",
            "--exclude-standard",
            part,
        ).splitlines()
        for name in files:
            target = top / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / name).read_bytes())
    return top / "client" / "python"


def test_a_wheel_is_built_from_a_source_archive(copy, tmp_path):
    # An sdist first, and the wheel from that: it has the .proto files inside.
    run(sys.executable, "-m", "build", "-o", tmp_path / "dist", copy)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "sandglass/py.typed",
        "sandglass/client.py",
        "sandglass/v1/run_pb2.py",
        "sandglass/v1/run_pb2.pyi",
        "sandglass/v1/sandbox_service_pb2_grpc.py",
    ):
        assert name in names
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    assert not [name for name in names if name.startswith(("proto", "google"))]


def test_pip_installs_it_from_a_clone(copy, tmp_path, daemon):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "./client/python", cwd=copy.parents[1])
    # Not even the tree of somebody else is written to.
    assert not list(copy.rglob("*_pb2.py"))
    out = run(
        python,
        "-c",
        "import sandglass\n"
        "with sandglass.Sandbox() as box:\n"
        "  print(box.run_code('6 * 7').text)",
        env={**os.environ, "SANDGLASS_ADDRESS": daemon.address},
        cwd=tmp_path,
    )
    assert out == "42\n"


def test_types_are_of_use_to_others(tmp_path):
    (tmp_path / "user.py").write_text(
        "import asyncio\n"
        "import sandglass\n"
        "with sandglass.Sandbox() as box:\n"
        "    reveal_type(box.run_code('1', timeout=5).text)\n"
        "    reveal_type(box.files.list())\n"
        "    reveal_type(box.execute('ls').exit_code)\n"
        "    box.run_code('1', timeout='5')\n"
        "    box.run_code('1', timout=5)\n"
        "async def main() -> None:\n"
        "    async with sandglass.AsyncSandbox() as box:\n"
        "        reveal_type((await box.run_code('1')).outcome)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", tmp_path / "user.py"],
        capture_output=True,
        text=True,
        cwd=PACKAGE / "src",
    )
    for words in (
        'Revealed type is "str | None"',
        "FileInfo",
        'Revealed type is "int | None"',
        "Outcome",
        'Argument "timeout"',
        'Unexpected keyword argument "timout"',
    ):
        assert words in done.stdout, done.stdout
    assert "Found 2 errors" in done.stdout, done.stdout


@pytest.mark.parametrize("name", sandglass.__all__)
def test_each_public_name_is_described(name):
    thing = getattr(sandglass, name)
    assert thing.__doc__, name
    text = pydoc.plain(pydoc.render_doc(thing))
    assert name in text


def test_all_of_it_is_there():
    assert sorted(sandglass.__all__) == sandglass.__all__
    assert set(sandglass.__all__) <= set(dir(sandglass))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = sandglass.Nothing
    cmake = (PACKAGE.parents[1] / "CMakeLists.txt").read_text()
    assert f"VERSION {sandglass.__version__} " in cmake


def test_an_import_loads_little():
    out = run(
        sys.executable,
        "-c",
        "import grpc, sys; before = set(sys.modules); import sandglass\n"
        "print(*sorted(set(sys.modules) - before))",
    )
    loaded = out.split()
    assert "sandglass.client" in loaded
    assert not [name for name in loaded if "pb2" in name or "protobuf" in name]
    assert not {"sandglass.aio", "sandglass.langchain"} & set(loaded)


def test_a_cut_leaves_no_part_of_a_character():
    text = "aé€😀"
    data = text.encode()
    for cut in range(len(data)):
        head, tail = _convert.decode_parts(data[:cut], data[cut:])
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) >= len(text) - 1
    # What the program itself wrote as no text is seen.
    assert _convert.decode_parts(b"\xff", b"\xff") == ("\ufffd", "\ufffd")
