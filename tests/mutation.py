#!/usr/bin/python3
"""Whether the unit tests of a room notice that a decision is wrong: makes small
changes in the room's sources, one at a time, and runs the room's tests on each.

usage: mutation.py BUILD_DIR ROOM [--count N] [--seed N] [--bar PERCENT]
                   [--jobs N] [--explained FILE]

ROOM is a folder as policy/verdict, whose tests are in tests/unit/ROOM. BUILD_DIR is
one that was built: the flags and libraries are its. What is changed is a copy in a
directory of the script's own; neither the clone nor BUILD_DIR is written to. Headers
are not changed. A change is noticed when a test fails, crashes, or takes ten times
as long as all do. One that doesn't compile doesn't count, and neither does one that
can't be noticed, as mutation_explained.json has it: a list of {"file": …, "old": its
line, "new": that line as it was changed, "why": …}. Exits with 1 where fewer changes
were noticed than the bar says, with 2 where there is nothing to be told.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "style"))
import project  # noqa: E402

EXPLAINED = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "mutation_explained.json")
SHORTEST_LIMIT = 10  # seconds for the tests of a change
# Unlike the build: fast, and what a change leaves unused is no error.
MORE_FLAGS = ["-O0", "-g0", "-w", "-U_FORTIFY_SOURCE"]

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)

# Binary operators have spaces around them in this project, templates have none.
SWAPS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="],
         ">=": [">", "<"], "==": ["!="], "!=": ["=="], "&&": ["||"],
         "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"],
         "%": ["*"], "+=": ["-="], "-=": ["+="], "|": ["&"], "&": ["|"]}
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[-<>+*/%|&])(?= |\n)")
NOT = re.compile(r"(?<![\w)\]])!(?=[\w(:])")
NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")
TRUTH = re.compile(r"\b(?:true|false)\b")
STEP = re.compile(r"\+\+|--")
LIMIT = re.compile(r"\bstd::(min|max)\b")
RETURN = re.compile(r"\breturn\s+(?!\{\};)([^;{}]+);")
# A whole statement that is a call or an assignment, after the end of another.
STATEMENT = re.compile(
    r"(?<=[;{}\n)])(?P<space>[ \t]*)(?P<body>(?:break|continue"
    r"|(?:\+\+|--)?[A-Za-z_][\w:.\->]*(?:\[[^\]\n]*\])*"
    r"(?:\s*(?:=|\+=|-=|\|=|&=)\s[^;{}]*|\([^;{}]*\)|\+\+|--)?));", re.MULTILINE)
NO_STATEMENT = re.compile(r"^(?:using|return|namespace|public|private|case|default)")


def code_alone(text):
    """`text` in which comments, literals of text, and lines for the preprocessor
    are blank, so that each character of code is where it was."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    # A character that ends a literal stays none; the order matters: a directive
    # may have a comment.
    return DIRECTIVE.sub(blank, COMMENT_OR_TEXT.sub(blank, text))


class Change:
    """One change: what is at [start, end) of a source becomes `new`."""

    def __init__(self, path, text, start, end, new):
        self.path = path
        self.start = start
        self.line = text.count("\n", 0, start) + 1
        self.text = text[:start] + new + text[end:]
        begin = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        self.old_line = " ".join(text[begin:stop].split())
        self.new_line = " ".join((text[begin:start] + new + text[end:stop]).split())

    def describe(self):
        return (f"{self.path}:{self.line}\n  - {self.old_line}\n"
                f"  + {self.new_line}")


def changes_of(path, text):
    """All changes that this script knows of a source."""
    code = code_alone(text)
    found = []

    def add(match, new, group=0):
        found.append(Change(path, text, match.start(group), match.end(group), new))

    for match in OPERATOR.finditer(code):
        for new in SWAPS[match.group()]:
            add(match, new)
    for match in NOT.finditer(code):
        add(match, "")
    for match in NUMBER.finditer(code):
        add(match, str(int(match.group(), 8 if re.match("0[0-7]", match.group())
                           else 10) + 1))
    for match in TRUTH.finditer(code):
        add(match, "false" if match.group() == "true" else "true")
    for match in STEP.finditer(code):
        add(match, "--" if match.group() == "++" else "++")
    for match in LIMIT.finditer(code):
        add(match, "max" if match.group(1) == "min" else "min", 1)
    for match in RETURN.finditer(code):
        if match.group(1) not in ("true", "false", "0"):
            add(match, "{}", 1)
    for match in STATEMENT.finditer(code):
        if not NO_STATEMENT.match(match.group("body")):
            add(match, "", "body")
    return found


class Build:
    """Compiles and links a room with its tests, in a directory of its own."""

    def __init__(self, top, build_dir, room, work):
        self.top, self.build_dir, self.work = top, build_dir, work
        units = project.units(top, build_dir)
        tests = os.path.join("tests", "unit", room)
        self.sources = [u for u in units if os.path.dirname(u.path) == room]
        self.tests = [u for u in units if os.path.dirname(u.path) == tests]
        if not self.sources or not self.tests:
            raise LookupError(f"{build_dir} has no sources or no tests of {room}")
        self.library = self._target(self.sources[0])
        self.libraries = self._link_line(self._target(self.tests[0]))

    @staticmethod
    def _target(unit):
        return re.search(r"(?:^|/)CMakeFiles/([^/]+)\.dir/", unit.output).group(1)

    def _link_line(self, target):
        """What the build links the test program with, but for the room itself."""
        with open(os.path.join(self.build_dir, "build.ninja"),
                  encoding="utf-8") as file:
            rules = file.read()
        block = re.search(
            rf"^build [^\n]*: CXX_EXECUTABLE_LINKER__{re.escape(target)}_[^\n]*\n"
            r"((?:[ \t]+[^\n]*\n)*)", rules, re.MULTILINE)
        if block is None:
            raise LookupError(f"{self.build_dir}/build.ninja has no {target}")
        words = []
        for name in ("LINK_FLAGS", "LINK_LIBRARIES"):
            line = re.search(rf"^ *{name} = (.*)$", block.group(1), re.MULTILINE)
            words += line.group(1).split() if line else []
        return [w for w in words
                if os.path.basename(w) != f"lib{self.library}.a"]

    def compile(self, unit, source, output):
        """Whether `source` compiles, with the flags of the unit."""
        flags = [f for f in unit.flags if f != "-Werror"]
        # Beside a source's copy there is no header.
        return subprocess.run(
            [unit.compiler, *flags, *MORE_FLAGS, "-iquote",
             os.path.dirname(os.path.join(self.top, unit.path)),
             "-c", source, "-o", output],
            cwd=unit.directory, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False).returncode == 0

    def object_of(self, unit):
        return os.path.join(self.work, unit.path.replace("/", "_") + ".o")

    def compile_all(self):
        for unit in self.sources + self.tests:
            if not self.compile(unit, os.path.join(self.top, unit.path),
                                self.object_of(unit)):
                raise LookupError(f"{unit.path} does not compile")

    def link(self, output, instead=None):
        """Whether the program is there: `instead` is (unit, its object)."""
        objects = [instead[1] if instead and unit is instead[0]
                   else self.object_of(unit) for unit in self.sources + self.tests]
        # Without the other rooms' tests, other parts of a library come first.
        libraries = ["-Wl,--start-group", *self.libraries, "-Wl,--end-group"]
        return subprocess.run(
            [self.sources[0].compiler, *objects, "-o", output, *libraries],
            cwd=self.build_dir, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False).returncode == 0

    def passes(self, program, limit):
        """Whether the tests pass within `limit` seconds."""
        directory = tempfile.mkdtemp(dir=self.work)
        try:
            return subprocess.run(
                [program], cwd=directory, timeout=limit, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def try_change(build, change, number, limit):
    """"killed", "survived", or "" where it doesn't compile."""
    unit = next(u for u in build.sources if u.path == change.path)
    base = os.path.join(build.work, f"change{number}")
    source, output, program = base + ".cc", base + ".o", base
    with open(source, "w", encoding="utf-8") as file:
        file.write(change.text)
    try:
        if not build.compile(unit, source, output):
            return ""
        if not build.link(program, (unit, output)):
            return ""
        return "survived" if build.passes(program, limit) else "killed"
    finally:
        for path in (source, output, program):
            if os.path.exists(path):
                os.unlink(path)


def is_explained(change, explained):
    return any(each["file"] == change.path and each["old"] == change.old_line
               and each["new"] == change.new_line for each in explained)


def run(top, build_dir, room, options, work):
    build = Build(top, build_dir, room, work)
    build.compile_all()
    program = os.path.join(work, "unchanged")
    if not build.link(program):
        raise LookupError(f"the tests of {room} do not link")
    began = time.monotonic()
    if not build.passes(program, 600):
        raise LookupError(f"the tests of {room} fail as they are")
    limit = max(SHORTEST_LIMIT, 10 * (time.monotonic() - began))

    with open(options.explained, encoding="utf-8") as file:
        explained = json.load(file)
    changes = []
    for unit in build.sources:
        with open(os.path.join(top, unit.path), encoding="utf-8") as file:
            changes += changes_of(unit.path, file.read())
    random.Random(options.seed).shuffle(changes)
    print(f"{room}: {len(changes)} changes are known, seed {options.seed}",
          flush=True)

    todo = enumerate(c for c in changes if not is_explained(c, explained))
    survived, counted, unusable = [], 0, 0

    def one(item):
        number, change = item
        return change, try_change(build, change, number, limit)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # No more at a time than are still to be counted.
        while counted < options.count:
            items = [item for _, item in zip(
                range(min(options.jobs, options.count - counted)), todo)]
            if not items:
                break
            for change, end in pool.map(one, items):
                counted += bool(end)
                unusable += not end
                if end == "survived":
                    survived.append(change)
                    print(f"survived: {change.describe()}", flush=True)
    if counted == 0:
        raise LookupError(f"{room} has nothing that can be changed")
    percent = 100 * (counted - len(survived)) // counted
    print(f"{room}: of {counted} changes the tests noticed "
          f"{counted - len(survived)}, {percent} %; {unusable} did not compile")
    if percent < options.bar:
        print(f"{room}: {percent} % is below the bar of {options.bar} %",
              file=sys.stderr)
        return 1
    return 0


def main(arguments, top=None):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build_dir")
    parser.add_argument("room")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bar", type=int, default=0)
    parser.add_argument("--jobs", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--explained", default=EXPLAINED)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sandglass-mutation-") as work:
        try:
            return run(top or project.root(), os.path.abspath(options.build_dir),
                       options.room.rstrip("/"), options, work)
        except LookupError as error:
            print(f"mutation.py: {error.args[0]}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
