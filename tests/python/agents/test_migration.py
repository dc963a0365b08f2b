"""What docs/migration.md says that Sandglass does, it does."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import skip_without_registry
from mock_model import MockModel, call

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "migration.md"
BLOCKS = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
OURS = [code for whose, code in BLOCKS if whose == "Sandglass"]


def test_each_block_says_whose_it_is():
    everything = PAGE.read_text().count("```python")
    assert len(BLOCKS) == everything
    assert len(OURS) == 9


@pytest.mark.parametrize("code", [code for _, code in BLOCKS], ids=range(len(BLOCKS)))
def test_it_is_python(code):
    ast.parse(code)


@pytest.mark.parametrize("code", OURS, ids=range(len(OURS)))
def test_it_prints_what_its_comments_say(code, daemon):
    script = [
        call("run_code", lang="python", code="sum(range(1, 10001))"),
        lambda messages: messages[-1]["content"].split("\n")[1],
    ]
    with MockModel(script) as mock:
        environment = {
            **os.environ,
            "SANDGLASS_ADDRESS": daemon.address,
            "OPENAI_BASE_URL": mock.url,
            "OPENAI_API_KEY": "none",
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
    skip_without_registry(done.stderr)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^ *print\(.*\) +# (.*)$", code, re.MULTILINE)
    assert promised
    at = 0
    for words in promised:
        found = done.stdout.find(words, at)
        assert found >= 0, (words, done.stdout)
        at = found + len(words)
