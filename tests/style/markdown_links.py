#!/usr/bin/python3
"""Relative links in Markdown files lead to something: a file or folder of the
tree, and a heading where the link names one.

usage: markdown_links.py [DIR]
"""

import os
import re
import sys
import urllib.parse

import project

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)"
                  r"|^\[[^\]]+\]:\s*<?([^\s>]+)>?", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.MULTILINE)


def anchors(text):
    """The anchors that code hosts make for a file's headings."""
    found = set()
    outside_code = re.sub(r"^(```|~~~).*?^\1", "", text,
                          flags=re.MULTILINE | re.DOTALL)
    for heading in HEADING.findall(outside_code):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if not number else f"{slug}-{number}")
    return found


def problem_of(top, path, target):
    """Why the link leads nowhere; None when it leads somewhere."""
    if re.match(r"^[a-z][a-z0-9+.-]*:", target) or target.startswith("//"):
        return None
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    if name.startswith("/"):
        return "is absolute; links here are relative"
    goal = os.path.normpath(
        os.path.join(os.path.dirname(path), name)) if name else path
    if goal.startswith(".."):
        return "leaves the tree"
    if not os.path.exists(os.path.join(top, goal)):
        return "leads to no file"
    if anchor and goal.endswith(".md"):
        if anchor.lower() not in anchors(project.read(top, goal) or ""):
            return f"names no heading of {goal}"
    return None


def main(top):
    bad = 0
    for path in project.files(top, ".md"):
        text = project.read(top, path) or ""
        # Code is blanked, with its lines kept for the numbers.
        prose = CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
        for match in LINK.finditer(prose):
            target = match.group(1) or match.group(2)
            problem = problem_of(top, path, target)
            if problem:
                bad += 1
                line = prose.count("\n", 0, match.start()) + 1
                print(f"{path}:{line}: the link '{target}' {problem}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else project.root()))
