"""The programs of the package's README, of the project's, and of the page for
those who begin do what they say."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PAGES = ("client/python/README.md", "README.md", "docs/getting-started.md")
# But those after <!-- not run: WHY -->.
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```python\n(.*?)```", re.M | re.S)
PROGRAMS = [
    program
    for page in PAGES
    for mark, program in BLOCK.findall((ROOT / page).read_text())
    if not mark
]


def test_there_are_some():
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_it_prints_what_its_comments_say(program, daemon):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SANDGLASS_ADDRESS": daemon.address},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^ *print\(.*\)\s*# (.*)$", program, re.MULTILINE)
    for words in promised:
        # Figures of time differ.
        words = words.split(" after ")[0].split(",")[0]
        if words.startswith("each field"):
            words = "limits.wall_time"
        assert words in done.stdout, (words, done.stdout)
    if not promised:
        assert "stdout 2" in done.stdout and "OK:" in done.stdout
