#!/usr/bin/python3
"""Checks that no two headers define the same type.

The linker joins two types of the same name silently: code then runs the
destructor of the other one. Prints what is wrong and exits with 1.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("server", "sandbox", "policy", "client", "gateway")
OPENS = re.compile(r"namespace ([\w:]+) \{")
CLOSES = re.compile(r"\}\s+// namespace")
# At the left margin, so outside every class. A declaration ends with its name.
DEFINES = re.compile(r"(?:class|struct|enum class|union) (\w+)\b(?!;|::)")


def types_of(text):
    """The qualified names of the types that a header defines."""
    namespaces = []
    for line in text.splitlines():
        if opens := OPENS.match(line):
            namespaces.append(opens[1])
        elif CLOSES.match(line) and namespaces:
            namespaces.pop()
        elif defines := DEFINES.match(line):
            yield "::".join([*namespaces, defines[1]])


def faults(headers):
    """What is wrong in `headers`, a dictionary of texts by path."""
    places = collections.defaultdict(list)
    for path, text in headers.items():
        for name in set(types_of(text)):
            places[name].append(path)
    return [
        f"{name} is defined in {' and in '.join(sorted(paths))}: rename one"
        for name, paths in sorted(places.items())
        if len(paths) > 1
    ]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    headers = {}
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.h"):
            name = str(path.relative_to(root))
            # Analysers of languages are programs of their own.
            if not name.startswith("policy/data/"):
                headers[name] = path.read_text()
    found = faults(headers)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
