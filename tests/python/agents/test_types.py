"""The package's own types, with those of the agents' libraries at hand."""

import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).parents[3] / "client" / "python"


def test_types_are_strict():
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=PACKAGE, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues found" in done.stdout
