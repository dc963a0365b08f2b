#!/usr/bin/python3
"""clang's -Wthread-safety, and its other warnings, over the sources that have
something to check: they, or a header that they include themselves, name a lock.
gcc, which builds the project, ignores ABSL_GUARDED_BY.

usage: thread_safety.py BUILD_DIR [FILE…]    (FILE: only these, below the clone)
"""

import os
import re
import subprocess
import sys

import project
import unit_checks

CLANG = "clang++-14"
# ABSL_ACQUIRED_BEFORE and ABSL_ACQUIRED_AFTER are looked at with "-beta" only.
OPTIONS = ["-fsyntax-only", "-Wthread-safety", "-Wthread-safety-beta",
           "-Werror", "-Wno-unknown-warning-option"]
# What is guarded is private: only a class's own sources, and who includes its
# inline functions, can break the rule.
LOCK = re.compile(r"\babsl::(Mutex|\w*MutexLock)\b|\bABSL_\w*(GUARDED|LOCK)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def names_a_lock(top, path):
    """Whether a source, or one of the project's headers in it, names a lock."""
    text = project.read(top, path) or ""
    headers = [h for h in INCLUDE.findall(text)
               if os.path.exists(os.path.join(top, h))]
    return any(LOCK.search(t or "") for t in
               [text, *(project.read(top, h) for h in headers)])


def main(build_dir, only):
    top = project.root()
    version = subprocess.run([CLANG, "--version"], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    units = project.units_together(
        top, build_dir,
        lambda path: path in only if only else names_a_lock(top, path))

    def command(unit):
        included = [word for source in unit.sources
                    for word in ("-include", source)]
        return [CLANG, *unit.flags, *OPTIONS, *included, "-xc++", "/dev/null"]

    return unit_checks.run("thread-safety", top, build_dir, units, command,
                           salt=version + repr(OPTIONS))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
