"""The commands of the README and of docs/ do what it says there.

A block of commands is run, with all others of its page in one shell, unless the
line before it is <!-- not run: WHY -->. "# exits with N" and "# prints WORDS" at
a line's end are promises.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[3]
BUILD = pathlib.Path(os.environ["SANDGLASS_TEST_BUILD"])
BLOCK = re.compile(
    r"^(<!-- not run: [^\n]+ -->\n)?```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PAGES = {
    str(page.relative_to(ROOT)): [
        (kind, text) for mark, kind, text in BLOCK.findall(page.read_text()) if not mark
    ]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}


def script_of(blocks: list[tuple[str, str]]) -> str:
    lines = []
    for kind, text in blocks:
        if kind == "console":  # commands after "$ ", between what they print
            commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
            lines += [f"{command} || true" for command in commands]
            continue
        for line in text.splitlines():
            promised = re.search(r"# exits with (\d+)$", line)
            if promised:
                command = line[: promised.start()]
                line = f"code=0; {command} || code=$?; [[ $code == {promised[1]} ]]"
            lines.append(line)
    return "\n".join(lines)


def promises_of(blocks: list[tuple[str, str]]) -> list[str]:
    words = []
    for kind, text in blocks:
        if kind == "console":
            printed = [line for line in text.splitlines() if not line.startswith("$ ")]
            words += [line.partition("…")[0] for line in printed]
        else:
            words += re.findall(r"# prints (.*)$", text, re.MULTILINE)
    return words


def test_there_are_some():
    assert sum(map(len, PAGES.values())) >= 5 and PAGES["README.md"]


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_the_commands_do_what_it_says(page, daemon, tmp_path):
    for name in ("deploy", "client"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").symlink_to(BUILD)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sandglass").symlink_to(BUILD / "bin" / "sandglass")
    # The tests are root, and this daemon's address is in the environment.
    (programs / "sudo").write_text('#!/bin/sh\nexec env "$@"\n')
    (programs / "sudo").chmod(0o755)
    done = subprocess.run(
        ["bash", "-xeuo", "pipefail", "-c", script_of(PAGES[page])],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SANDGLASS_ADDRESS": daemon.address,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    for words in promises_of(PAGES[page]):
        assert words in done.stdout, (words, done.stdout)
