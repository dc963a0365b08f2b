#!/usr/bin/python3
"""Lists which distribution provides which import, from their own metadata.

usage: collect.py python|ruby NAMES CONTENTS [WHEELS]

NAMES has the names that may be listed, one a line: those of the registry's
most used distributions, so that a program of Debian's own doesn't lend its
name to another project's. CONTENTS are Debian's lists of the files of its
packages, which hold the distributions' metadata beside their modules
(apt-get install apt-file && apt-get update, then /usr/lib/apt/apt-helper
cat-file on the Contents in /var/lib/apt/lists). WHEELS is a folder of wheels
(pip download --no-deps) of what Debian lacks; they go before it.

Writes lines "IMPORT DISTRIBUTION", sorted by their bytes, as a raw string of
C++. An import that several distributions provide goes to its namesake, or else
is left out.
"""

import collections
import pathlib
import re
import sys
import zipfile

PYTHON_PLACE = "usr/lib/python3/dist-packages/"
RUBY_PLACES = re.compile(
    r"usr/lib/ruby/vendor_ruby/|usr/share/rubygems-integration/[^/]+/gems/"
    r"[^/]+/lib/|usr/lib/[^/]+/rubygems-integration/[^/]+/gems/[^/]+/lib/")
RUBY_SPEC = re.compile(
    r"usr/(?:share|lib/[^/]+)/rubygems-integration/[^/]+/specifications/"
    r"(.+)-[0-9][^-]*\.gemspec$")
SOURCE = "the metadata in Debian 12's packages, and in wheels."
# Top-level names that many distributions install by mistake.
COMMON = {"benchmark", "benchmarks", "bin", "demo", "doc", "docs", "example",
          "examples", "init", "lib", "resources", "samples", "scripts",
          "setup", "src", "test", "testing", "tests", "tools", "util", "utils"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def python_files(paths):
    """The modules that these files, below the place of modules, make."""
    roots = collections.defaultdict(list)
    for path in paths:
        top, _, rest = path.partition("/")
        module = re.fullmatch(r"([A-Za-z]\w*)(\.py|(\.[\w-]+)?\.so)", top)
        if module and not rest:
            yield module[1]
        elif rest and re.fullmatch(r"[A-Za-z]\w*", top):
            roots[top].append(rest)
    for top, files in roots.items():
        if any(re.match(r"__init__\.", file) for file in files):
            yield top
            continue
        # A namespace, which belongs to nobody: what is below it counts.
        for file in files:
            if re.fullmatch(r"\w+/__init__\.py", file):
                yield f"{top}.{file.split('/')[0]}"


def debian(kind, contents):
    """Pairs of a distribution's name and the imports that it provides."""
    files = collections.defaultdict(list)
    names = collections.defaultdict(set)
    with open(contents, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            path, _, packages = line.rstrip().rpartition(" ")
            path = path.rstrip()
            if kind == "python":
                if not path.startswith(PYTHON_PLACE):
                    continue
                rest = path[len(PYTHON_PLACE):]
                info = re.match(r"([^/]+?)-[^-/]+\.(egg|dist)-info\b", rest)
            else:
                info = RUBY_SPEC.match(path)
                place = RUBY_PLACES.match(path)
                if not info and not place:
                    continue
                rest = path[place.end():] if place else ""
            for package in packages.split(","):
                if info:
                    names[package].add(normal(info[1]) if kind == "python"
                                       else info[1])
                else:
                    files[package].append(rest)
    for package, found in names.items():
        # Of a package of several distributions nobody knows whose file is whose.
        if len(found) == 1:
            imports = (python_files(files[package]) if kind == "python" else
                       (file[:-3] for file in files[package]
                        if re.fullmatch(r"[\w-]+\.rb", file)))
            yield next(iter(found)), set(imports)


def wheels(folder):
    for path in sorted(pathlib.Path(folder).glob("*.whl")):
        name = normal(path.name.split("-")[0])
        with zipfile.ZipFile(path) as wheel:
            yield name, set(python_files(
                file for file in wheel.namelist() if ".dist-info/" not in file))


def main(kind, names, contents, folder=None):
    with open(names, encoding="utf-8") as lines:
        allowed = {line.strip() for line in lines}
    providers = collections.defaultdict(set)
    first = {}
    if folder:
        for name, imports in wheels(folder):
            first.update((each, name) for each in imports)
    for name, imports in debian(kind, contents):
        if name in allowed:
            for each in imports:
                providers[each].add(name)
    for each, found in providers.items():
        same = {name for name in found if normal(name) == normal(each)}
        if len(found) == 1 or same:
            first.setdefault(each, next(iter(same or found)))
    # Python names only the namespace where nothing of it is there: that is its
    # distribution's, if there is just one.
    spaces = collections.defaultdict(set)
    for each, name in first.items():
        spaces[each.split(".")[0]].add(name)
    for top, found in spaces.items():
        if len(found) == 1:
            first.setdefault(top, next(iter(found)))
        elif top in first and normal(first[top]) != normal(top):
            del first[top]
    standard = sys.stdlib_module_names if kind == "python" else ()
    print(f'R"(\n# Made by imports/collect.py from {SOURCE}')
    for each in sorted(first):
        top = each.split(".")[0]
        if not (top in COMMON or top in standard):
            print(each, first[each])
    print(')"')


if __name__ == "__main__":
    main(*sys.argv[1:])
