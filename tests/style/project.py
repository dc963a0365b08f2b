"""What the style checks share: the project's files and how each is compiled."""

import json
import os
import re
import shlex
import subprocess

# The project's own folders of C++ code, in the order of their layers.
CODE_FOLDERS = ("policy", "sandbox", "server", "client", "gateway", "tests", "bench")


def root():
    """The top of the clone."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(here))


def files(top, *suffixes):
    """Paths below `top`, relative to it, that are the project's own: tracked
    by git or new and not ignored; without git, all but hidden and build
    folders. With suffixes, only files that end in one of them."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", top, "ls-files", "-z",
         "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0:
        paths = [p for p in listed.stdout.decode().split("\0") if p]
    else:
        paths = []
        for folder, folders, names in os.walk(top):
            folders[:] = [d for d in folders if not d.startswith((".", "build"))]
            paths += [os.path.relpath(os.path.join(folder, n), top)
                      for n in names]
    return sorted(
        {p for p in paths
         if (not suffixes or p.endswith(suffixes))
         and os.path.isfile(os.path.join(top, p))
         and not os.path.islink(os.path.join(top, p))})


def read(top, path):
    """The text of a file; None for one that isn't text."""
    with open(os.path.join(top, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


class Unit:
    """A source file of the project, and how the build compiles it."""

    def __init__(self, top, entry):
        self.directory = entry["directory"]
        self.path = os.path.relpath(entry["file"], top)
        self.output = entry.get("output", "")
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        # Compilers' own words begin here; what stands before starts them.
        start = next(i for i, a in enumerate(arguments)
                     if re.fullmatch(r"(.*/)?(c|g|clang)\+\+(-[0-9]+)?", a))
        arguments = arguments[start:]
        self.compiler = arguments[0]
        # Headers that were compiled ahead are not for other tools: of gcc two
        # words follow, of clang eight.
        if "-Winvalid-pch" in arguments:
            at = arguments.index("-Winvalid-pch")
            words = 9 if arguments[at + 1] == "-Xclang" else 3
            del arguments[at:at + words]
        self.flags = []
        skip = False
        for argument in arguments[1:]:
            if skip:
                if not self.output:
                    self.output = argument
                skip = False
            elif argument == "-o":
                skip = True
            elif argument not in ("-c", entry["file"]):
                self.flags.append(argument)


def apart(entry):
    """An entry of the compile database as one for each source: CMake compiles
    several at once by a file that includes them."""
    if os.sep + "Unity" + os.sep not in entry["file"]:
        return [entry]
    with open(entry["file"], encoding="utf-8") as file:
        sources = re.findall(r'^#include "([^"]+)"', file.read(), re.MULTILINE)
    return [{**entry, "file": source,
             "command": entry["command"].replace(entry["file"], source)}
            for source in sources]


def units(top, build_dir):
    """The project's own source files in the build's compile database."""
    with open(os.path.join(build_dir, "compile_commands.json"),
              encoding="utf-8") as file:
        database = json.load(file)
    unique = {}
    for entry in database:
        for single in apart(entry):
            unit = Unit(top, single)
            if unit.path.split(os.sep)[0] in CODE_FOLDERS:
                unique.setdefault(unit.path, unit)
    return [unique[path] for path in sorted(unique)]
