#!/usr/bin/python3
"""clang-tidy over the project's sources, with the checks of .clang-tidy.

usage: tidy.py BUILD_DIR [FILE…]      (FILE: only these, below the clone)
"""

import os
import subprocess
import sys

import project
import unit_checks

TIDY = "clang-tidy-14"


def main(build_dir, only):
    top = project.root()
    config = os.path.join(top, ".clang-tidy")
    options = [
        "--quiet", f"--config-file={config}",
        # Plain warnings are the build's.
        "--extra-arg=-Wno-everything",
    ]
    version = subprocess.run([TIDY, "--version"], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    units = [u for u in project.units(top, build_dir)
             if not only or u.path in only]
    return unit_checks.run(
        "clang-tidy", top, build_dir, units,
        lambda unit: [TIDY, *options, os.path.join(top, unit.path), "--",
                      "-xc++", *unit.flags],
        salt=version + project.read(top, ".clang-tidy") + repr(options))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
