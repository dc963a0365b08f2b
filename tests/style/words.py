#!/usr/bin/python3
"""The tree speaks of the product as it is: no promises, no tracker numbers,
no paths or hosts of the machine it was written on.

usage: words.py [DIR]
"""

import re
import sys

import project

# The patterns are written so that this file doesn't match itself.
FORBIDDEN = [
    (r"\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b",
     "do it, or write down the limit as a fact"),
    (r"\b[Ii]ssues?[ ]#?\d|(?<![\w&/])[#]\d+\b(?!;)|/(issues|pull)/\d",
     "say the reason itself, not where it was discussed"),
    (r"(?<![\w.$}])/wor[k](?=/|\b(?!space))|/hom[e]/(?!runner\b)[a-z]+/|/roo[t]/\.",
     "a path of somebody's machine"),
    (r"(registry|npm|proxy|index|files|deb|security|snapshot)\."
     r"(npmjs|golang|crates|debian|pythonhosted|pypi|yarnpkg)\.[a-z]+"
     r"|\bpypi\.or[g]|\b[\w-]+-docker\.pkg\.de[v]|\bartifactregistr[y]",
     "package sources are the machine's configuration"),
    (r"(?i)\b(as an a[i]|chat ?gp[t]|language model wrot[e]|co-authored-b[y])",
     "say what the code does"),
    (r"^(<{7}|>{7}|={7})( |$)", "a merge conflict"),
]
# Where a pattern is meant otherwise: hexadecimal colours and C's #if 0 never
# match; numbered references in data files do.
SKIP = (".svg", ".json", ".jsonl", ".lock")


def main(top):
    rules = [(re.compile(pattern), why) for pattern, why in FORBIDDEN]
    bad = 0
    for path in project.files(top):
        if path.endswith(SKIP):
            continue
        for number, line in enumerate(
                (project.read(top, path) or "").splitlines(), 1):
            for pattern, why in rules:
                match = pattern.search(line)
                if match:
                    bad += 1
                    print(f"{path}:{number}: '{match.group(0)}': {why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else project.root()))
