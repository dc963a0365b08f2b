#!/usr/bin/python3 -I
"""Stands in for a container's runtime: takes the resource limits out of what an
engine tells it, for a root that may not raise them. RUNTIME is put in by
tests/by_hand/container_engine.sh.
"""

import json
import os
import sys

RUNTIME = "RUNTIME"


def without_limits(path):
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.get("process", config).pop("rlimits", None)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def main():
    words = sys.argv[1:]
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        value = value or "".join(words[at + 1:at + 2])
        if name in ("--bundle", "-b"):
            without_limits(os.path.join(value, "config.json"))
        elif name in ("--process", "-p"):
            without_limits(value)
    os.execv(RUNTIME, [RUNTIME] + words)


main()
