"""The programs of the README do what it says."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).parents[3] / "client" / "python" / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_are_some():
    assert len(PROGRAMS) == 5


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
