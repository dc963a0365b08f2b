#!/usr/bin/python3
"""Whether what tests/fuzz/fuzz.cmake lists for the fuzz targets is all that they
need, by the objects of the ordinary build: their own build takes ten minutes,
which not every run has. As a linker does: from the headers that a target
includes, to what their sources need.

usage: fuzz_sources.py BUILD_DIR
"""

import collections
import os
import re
import subprocess
import sys

import project

LISTS = "tests/fuzz/fuzz.cmake"
# Whole libraries that targets may link, by folder; of the others only sources
# are listed.
WHOLE = ("policy", "proto", "sandbox/libsandglass_os.a",
         "sandbox/libsandglass_file_agent.a",
         "sandbox/libsandglass_egress_wire.a")
OURS = re.compile(r"9sandglass")  # in a mangled name, a namespace of ours
INCLUDE = re.compile(r'^#include "([^"]+)\.h"', re.MULTILINE)


def symbols(path):
    """The names of ours that an object or archive defines, and those it lacks."""
    listed = subprocess.run(["nm", "-P", path], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True, text=True)
    defined, lacking = set(), set()
    for line in listed.stdout.splitlines():
        words = line.split()
        if len(words) < 2 or not OURS.search(words[0]):
            continue
        (lacking if words[1] == "U" else defined).add(words[0])
    return defined, lacking


def read_lists(text):
    """Sources and libraries of each library; libraries of each target."""
    variables = dict(re.findall(r"^set\((\w+) \$\{PROJECT_SOURCE_DIR\}/(\w+)\)",
                                text, re.MULTILINE))
    sources, links, targets = {}, collections.defaultdict(list), {}
    for command, arguments in re.findall(
            r"^(add_library|target_link_libraries|sandglass_fuzz_target)"
            r"\(([^)]*)\)", text, re.MULTILINE):
        words = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m[1], m[0]),
                       arguments).split()
        if command == "add_library":
            sources[words[0]] = [w for w in words[1:] if w.endswith(".cc")]
        elif command == "target_link_libraries":
            links[words[0]] += words[1:]
        elif words[0] != "name":
            targets[words[0]] = words[1:]
    return sources, links, targets


def listed_sources(libraries, sources, links):
    """What stands in all libraries that these link."""
    found, todo = set(), list(libraries)
    while todo:
        library = todo.pop()
        found.update(sources.get(library, []))
        todo += links.get(library, []) if library in sources else []
    return found


def main(build_dir):
    top = project.root()
    sources, links, targets = read_lists(project.read(top, LISTS))
    objects = {}
    for unit in project.units(top, build_dir):
        path = os.path.join(unit.directory, unit.output)
        if os.path.exists(path):
            objects.setdefault(unit.path, path)
    known = {p: symbols(objects[p])
             for library in sources.values() for p in library if p in objects}
    whole = set()
    for folder, _, names in os.walk(build_dir):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), build_dir)
            if name.endswith(".a") and path.startswith(WHOLE):
                whole |= symbols(os.path.join(build_dir, path))[0]
    wrong = []
    for target, libraries in sorted(targets.items()):
        listed = listed_sources(libraries, sources, links)
        where = {name: p for p in listed & known.keys() for name in known[p][0]}
        text = project.read(top, f"tests/fuzz/{target}_fuzz.cc")
        todo = [h + ".cc" for h in INCLUDE.findall(text) if h + ".cc" in listed]
        pulled, missing = set(), set()
        while todo:
            path = todo.pop()
            if path in pulled or path not in known:
                continue
            pulled.add(path)
            for name in known[path][1] - whole:
                if name in where:
                    todo.append(where[name])
                else:
                    missing.add((path, name))
        for path, name in sorted(missing):
            plain = subprocess.run(["c++filt", name], stdout=subprocess.PIPE,
                                   check=True, text=True).stdout.strip()
            wrong.append(f"{LISTS}: {target} lacks {plain}, which {path} needs")
    print("\n".join(wrong))
    print(f"fuzz_sources: {len(targets)} targets, {len(known)} sources, "
          f"{len(wrong)} missing")
    return 1 if wrong or not known or not targets else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
