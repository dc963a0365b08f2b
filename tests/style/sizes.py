#!/usr/bin/python3
"""Files stay small enough to read in one go.

usage: sizes.py [DIR]
"""

import sys

import project

LIMITS = {".h": 250, ".cc": 500, ".c": 500, ".py": 500, ".sh": 500,
          ".proto": 500}


def main(top):
    bad = 0
    for suffix, limit in LIMITS.items():
        for path in project.files(top, suffix):
            lines = (project.read(top, path) or "").count("\n")
            if lines > limit:
                bad += 1
                print(f"{path}: {lines} lines; the limit for {suffix} is "
                      f"{limit}: split it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else project.root()))
