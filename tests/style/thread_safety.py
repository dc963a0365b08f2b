#!/usr/bin/python3
"""clang's -Wthread-safety, and its other warnings, over the project's sources:
gcc, which builds the project, ignores ABSL_GUARDED_BY.

usage: thread_safety.py BUILD_DIR [FILE…]    (FILE: only these, below the clone)
"""

import os
import subprocess
import sys

import project
import unit_checks

CLANG = "clang++-14"
OPTIONS = ["-fsyntax-only", "-Wthread-safety", "-Werror",
           "-Wno-unknown-warning-option"]


def main(build_dir, only):
    top = project.root()
    version = subprocess.run([CLANG, "--version"], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    units = [u for u in project.units(top, build_dir)
             if not only or u.path in only]
    return unit_checks.run(
        "thread-safety", top, build_dir, units,
        lambda unit: [CLANG, *unit.flags, *OPTIONS,
                      os.path.join(top, unit.path)],
        salt=version + repr(OPTIONS))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
