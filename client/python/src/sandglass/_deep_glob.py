"""Which names with a leading dot a pattern means, as deepagents has it: a part of
a path that begins with a dot is matched only by a part of the pattern that does,
and `**` passes none. A pattern without a slash is about the last part alone, at
any depth. (Everything else of a pattern the daemon matches.)"""

from __future__ import annotations

import fnmatch
import posixpath

_MOST_CANDIDATES = 1000


def expand(pattern: str) -> list[str]:
    """The pattern without its braces; ValueError when it is none."""
    if not pattern:
        raise ValueError("the pattern is empty")
    if ".." in pattern.split("/"):
        raise ValueError(f"the pattern {pattern!r} has '..', which leads out")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        parts = _first_group(one)
        if parts is None:
            done.append(one)
        else:
            head, alternatives, tail = parts
            waiting += [head + each + tail for each in alternatives]
        if len(done) + len(waiting) > _MOST_CANDIDATES:
            raise ValueError(
                f"the braces of {pattern!r} stand for over {_MOST_CANDIDATES} patterns"
            )
    return done


def anchored(pattern: str, root: str) -> str:
    """The pattern for the daemon, to which one that begins with a slash is about
    the sandbox's root; to deepagents it is about where to look."""
    if not pattern.startswith("/"):
        return pattern
    here = "".join(f"[{c}]" if c in "*?[{" else c for c in root.rstrip("/"))
    return here + pattern


def _first_group(pattern: str) -> tuple[str, list[str], str] | None:
    """Around the first {a,b}: what is before, its alternatives, what follows."""
    start = pattern.find("{")
    while start >= 0:
        depth, begin, alternatives = 0, start + 1, []
        for at in range(start, len(pattern)):
            character = pattern[at]
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
            if depth == 1 and character == ",":
                alternatives.append(pattern[begin:at])
                begin = at + 1
            if depth == 0:
                if not alternatives:
                    break  # {a} is no choice
                alternatives.append(pattern[begin:at])
                return pattern[:start], alternatives, pattern[at + 1 :]
        start = pattern.find("{", start + 1)
    return None


def shows(path: str, root: str, candidates: list[str]) -> bool:
    relative = posixpath.relpath(path, root)
    if not any(part.startswith(".") for part in relative.split("/")):
        return True
    return any(_matches(relative, candidate) for candidate in candidates)


def _matches(relative: str, pattern: str) -> bool:
    if "/" not in pattern:
        return _part(posixpath.basename(relative), pattern)
    return _parts(relative.split("/"), [part for part in pattern.split("/") if part])


def _parts(names: list[str], patterns: list[str]) -> bool:
    """Walks all ways to match at once: trees are the sandbox's, patterns the
    model's, and one way after another may be without end."""
    at = _passing({0}, patterns)
    for name in names:
        after = set()
        for i in at:
            if i == len(patterns):
                continue
            if patterns[i] == "**":
                if not name.startswith("."):
                    after.add(i)
            elif _part(name, patterns[i]):
                after.add(i + 1)
        at = _passing(after, patterns)
    return len(patterns) in at


def _passing(at: set[int], patterns: list[str]) -> set[int]:
    """Also where a `**` that stands for nothing leads to."""
    for i in tuple(at):
        while i < len(patterns) and patterns[i] == "**":
            i += 1
            at.add(i)
    return at


def _part(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, pattern.replace("[^", "[!"))
