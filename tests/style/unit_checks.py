"""Runs a tool over every source file of the build, in parallel, and remembers
what passed.

A file that passed is not checked again while the file, all it includes, the
tool and its options stay as they are. What it includes is read from ninja's
own log of dependencies, so a file is only remembered once it was built. The
memory is $SANDGLASS_CACHE, by default ~/.cache/sandglass.
"""

import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys
import time

KEEP_SECONDS = 30 * 24 * 3600
MEMORY_PER_JOB_KB = 1_000_000


def _jobs():
    cpus = len(os.sched_getaffinity(0))
    with open("/proc/meminfo", encoding="ascii") as file:
        free_kb = int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1))
    return max(1, min(cpus, free_kb // MEMORY_PER_JOB_KB))


def _cache_dir():
    base = os.environ.get("SANDGLASS_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
        "sandglass")
    path = os.path.join(base, "style")
    os.makedirs(path, exist_ok=True)
    for name in os.listdir(path):
        old = os.path.join(path, name)
        if time.time() - os.stat(old).st_mtime > KEEP_SECONDS:
            os.unlink(old)
    return path


def _dependencies(build_dir):
    """Object file → the files it was compiled from, for objects whose entry in
    ninja's log is still right."""
    listed = subprocess.run(["ninja", "-C", build_dir, "-t", "deps"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False).stdout
    result = {}
    for block in listed.split("\n\n"):
        lines = block.splitlines()
        while lines and ": #deps" not in lines[0]:
            lines.pop(0)
        if lines and lines[0].endswith("(VALID)"):
            result[lines[0].split(": #deps")[0]] = [
                line.strip() for line in lines[1:]]
    return result


class _Fingerprints:
    """A short text for each file that changes when the file does."""

    def __init__(self, top):
        self._top = top
        self._known = {}

    def of(self, path):
        """Content for the project's files (the build's included), size and
        time for the system's."""
        if path not in self._known:
            if path.startswith(self._top + os.sep):
                with open(path, "rb") as file:
                    text = hashlib.sha256(file.read()).hexdigest()
            else:
                stat = os.stat(path)
                text = f"{stat.st_size} {stat.st_mtime_ns}"
            self._known[path] = text
        return self._known[path]


def run(name, top, build_dir, units, command_for, salt):
    """Runs command_for(unit) for each unit; a command that fails or prints
    anything is a finding. `salt`: all that a verdict depends on besides the
    files, such as the tool's version and options. Returns the exit code."""
    cache = _cache_dir()
    dependencies = _dependencies(build_dir)
    fingerprints = _Fingerprints(top)

    def key(unit):
        depends_on = dependencies.get(unit.output)
        if depends_on is None:
            return None
        digest = hashlib.sha256()
        # Sources that are compiled together share the object and its entry.
        digest.update(
            f"{name}\n{salt}\n{unit.path}\n{unit.flags}\n".encode())
        for path in depends_on:
            full = os.path.normpath(os.path.join(unit.directory, path))
            try:
                shown = os.path.relpath(full, top)
                digest.update(f"{shown} {fingerprints.of(full)}\n".encode())
            except OSError:
                return None
        return digest.hexdigest()

    todo = []
    for unit in units:
        unit_key = key(unit)
        marker = unit_key and os.path.join(cache, unit_key)
        if marker and os.path.exists(marker):
            os.utime(marker)
        else:
            todo.append((unit, marker))
    print(f"{name}: {len(units)} files, {len(units) - len(todo)} of them "
          f"unchanged since they passed", flush=True)

    def check(item):
        unit, marker = item
        done = subprocess.run(command_for(unit), cwd=unit.directory, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        output = done.stdout.strip()
        if done.returncode != 0:
            output = (output + "\n" + done.stderr.strip()).strip()
        if done.returncode == 0 and not output and marker:
            with open(marker, "w", encoding="ascii"):
                pass
        return unit, done.returncode, output

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(_jobs()) as pool:
        for unit, code, output in pool.map(check, todo):
            if code != 0 or output:
                bad += 1
                print(f"{unit.path}:\n{output or f'exit code {code}'}\n",
                      flush=True)
    if bad:
        print(f"{name}: {bad} of {len(units)} files have findings",
              file=sys.stderr)
    return 1 if bad else 0
