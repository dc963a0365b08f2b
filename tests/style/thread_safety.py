#!/usr/bin/python3
"""clang's -Wthread-safety, and its other warnings, over the sources that have
something to check: they, or a header that they include themselves, name a lock.
gcc, which builds the project, ignores ABSL_GUARDED_BY.

usage: thread_safety.py BUILD_DIR [--changed | FILE…]    (FILE: only these, below
                                                         the clone)

--changed: of these only the sources that were changed, or that include a header
of the project's that was: since the commit in $SANDGLASS_BASE, or where that is
not set, since this branch left the default one of origin, and at least since the
commit before the last. All of them where git can't say.
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


def git(top, *words):
    """The lines that git prints; None where it fails."""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", top, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def changed_files(top):
    """Paths below the clone that --changed means; None: git can't say."""
    base = os.environ.get("SANDGLASS_BASE")
    bases = [base] if base else ["HEAD~1"]
    if not base:
        bases += git(top, "merge-base", "HEAD", "origin/HEAD") or []
    changed = set(git(top, "ls-files", "--others", "--exclude-standard") or [])
    for base in bases:
        listed = git(top, "diff", "--name-only", base)
        if listed is None:
            return None
        changed |= set(listed)
    return changed


def is_changed(top, path, changed):
    """Whether a source, or one of the project's headers in it, is in `changed`."""
    included = INCLUDE.findall(project.read(top, path) or "")
    return path in changed or not changed.isdisjoint(included)


def main(build_dir, only):
    top = project.root()
    changed = None
    if only == ["--changed"]:
        only = []
        changed = changed_files(top)
    version = subprocess.run([CLANG, "--version"], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    units = project.units_together(
        top, build_dir,
        lambda path: path in only if only else (
            names_a_lock(top, path)
            and (changed is None or is_changed(top, path, changed))))

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
