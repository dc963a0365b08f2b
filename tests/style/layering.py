#!/usr/bin/python3
"""Dependencies between folders point one way, and raw kernel calls live in
one place.

usage: layering.py [DIR]      (DIR: the tree to check, by default the clone)

Which room may use which is said in the folders' CMakeLists.txt, by which the
build links them; the other rules are the tables below. DIR's .h, .cc and .c
files are read, no build is needed.
"""

import os
import re
import sys

import project

# The folders of code, and what each may include of the project's besides the
# rooms that its own rooms use. A folder that isn't named here may not hold code.
MAY_INCLUDE = {
    "policy": [],
    "sandbox": ["internal/"],
    # Of internal/ only what it writes for itself.
    "server": ["internal/durable.", "sandglass/v1/", "sandglass/node/v1/",
               "google/rpc/"],
    "gateway": ["sandglass/v1/", "sandglass/node/v1/", "google/rpc/"],
    "client": ["sandglass/v1/", "google/rpc/"],
    "tests": ["policy/", "sandbox/", "server/", "gateway/", "client/", "tests/",
              "internal/", "sandglass/v1/", "sandglass/node/v1/",
              "google/rpc/"],
    "bench": ["bench/", "client/", "gateway/", "policy/", "sandbox/", "server/",
              "tests/", "internal/", "sandglass/v1/", "google/rpc/"],
}
# The folders that have rooms → whose rooms theirs may use beside their own.
MAY_USE = {
    "policy": [],
    "sandbox": ["policy/"],
    "server": ["policy/", "sandbox/"],
    # Of server/ what knows neither jails nor runs, and leaf helpers of client/.
    "gateway": ["policy/", "server/base", "server/identity", "server/metrics",
                "server/tls", "server/edge", "sandbox/os", "client/base"],
    # Of policy/ only the audit log's format, and words as people type them.
    "client": ["policy/audit", "policy/text"],
}
# Programs that stand in no room and know nothing of them: what the client sends
# into jails as it is, and examples for users of the public API.
ALONE = {
    "client/probe/": [],
    "client/examples/": ["sandglass/v1/", "google/rpc/"],
}
# Every first folder of an include that is the project's.
PROJECT_INCLUDES = ("policy/", "sandbox/", "server/", "client/", "gateway/",
                    "tests/", "bench/", "internal/", "sandglass/",
                    "google/rpc/")

# gRPC can't be in a process that forks without exec, so only these may use it.
# Of server/ those are its edge and its services alone.
GRPC_USERS = ("server/edge/", "server/rpc/", "gateway/edge/",
              "gateway/nodes/", "gateway/proxy/", "gateway/daemon/", "client/",
              "tests/", "bench/")
GRPC_INCLUDE = re.compile(r"^(grpc|grpcpp|grpc\+\+)/|\.grpc\.pb\.h$")

# The kernel is reached through sandbox/os/ alone; the probe tries what a
# hostile program would, which is raw calls. Constants of the filter
# machine are data, and policy/ compiles and evaluates filters.
RAW_HEADER = re.compile(
    r"^(sys/(mount|syscall|prctl|capability|ptrace|seccomp|pidfd)\.h|sched\.h"
    r"|syscall\.h|asm/.*|linux/.*)$")
RAW_HEADER_USERS = ("sandbox/os/", "client/probe/", "tests/", "bench/")
RAW_HEADER_ALSO = {
    "policy/": re.compile(r"^(sys/syscall\.h|asm/unistd.*\.h|"
                          r"linux/(audit|filter|seccomp|bpf_common)\.h)$"),
    "sandbox/": re.compile(r"^linux/(filter|seccomp)\.h$"),
}
RAW_CALL = re.compile(r"(?<![\w.>])(?:::)?(syscall|prctl|mount|umount2|unshare"
                      r"|setns|pivot_root|clone)\s*\(")
RAW_CALL_USERS = ("sandbox/os/", "client/probe/", "tests/", "bench/")

# sandglass_room(ROOM USES … SOURCES …) in a folder's CMakeLists.txt.
ROOM = re.compile(r"^sandglass_room\(([\w/]+)([^)]*)\)", re.MULTILINE)
ROOM_KEYS = ("USES", "LIBRARIES", "HEADERS", "ALONE", "SOURCES")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def strip_comments(text):
    """The text with comments and string contents blanked, lines kept."""
    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + token[-1]
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
                  r"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.DOTALL)


def read_rooms(top):
    """Room → the rooms that it may use, by the folders' CMakeLists.txt."""
    rooms = {}
    for folder in MAY_USE:
        path = os.path.join(top, folder, "CMakeLists.txt")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            for name, rest in ROOM.findall(file.read()):
                key, uses = None, []
                for word in rest.split():
                    if word in ROOM_KEYS:
                        key = word
                    elif key == "USES":
                        uses.append(word)
                rooms[name] = uses
    return rooms


def room_of(path, rooms):
    """The room in which a file stands; None outside all of them."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def room_problem(path, include, rooms, used):
    """Why the file's room may not include this of another room; None when it
    may. Notes in `used` which room uses which."""
    own, other = room_of(path, rooms), room_of(include, rooms)
    if own is None:
        return "it stands in no room; CMakeLists.txt of its folder has them"
    if other is None:
        return f"{include.rsplit('/', 1)[0]}/ is no room"
    if other == own:
        return None
    used.add((own, other))
    if other not in rooms[own]:
        return f"{own}/ may not depend on {other}/"
    return None


def include_problem(path, include, rooms, used):
    """Why the file may not include this; None when it may."""
    folder = path.split("/")[0]
    if include.startswith(PROJECT_INCLUDES):
        alone = next((part for part in ALONE if path.startswith(part)), None)
        if alone is not None:
            if not include.startswith((alone, *ALONE[alone])):
                return f"{alone} may not depend on anything else"
        elif folder in MAY_USE and include.split("/")[0] in MAY_USE:
            problem = room_problem(path, include, rooms, used)
            if problem:
                return problem
        elif not include.startswith(tuple(MAY_INCLUDE[folder])):
            return f"{folder}/ may not depend on {include.rsplit('/', 1)[0]}/"
    if GRPC_INCLUDE.search(include) and not path.startswith(GRPC_USERS):
        return "gRPC is for server/edge/, server/rpc/ and client/ only"
    if RAW_HEADER.match(include) and not path.startswith(RAW_HEADER_USERS):
        also = next((pattern for prefix, pattern in RAW_HEADER_ALSO.items()
                     if path.startswith(prefix)), None)
        if not (also and also.match(include)):
            return "raw kernel headers are for sandbox/os/ only"
    return None


def check_rooms(rooms, used):
    """Prints what is wrong with the table itself; returns how much."""
    found = []
    for room, uses in rooms.items():
        folder = room.split("/")[0]
        for other in uses:
            if other.split("/")[0] != folder and not other.startswith(
                    tuple(MAY_USE[folder]) or ("\0",)):
                found.append(f"{folder}/CMakeLists.txt: {room} may not use "
                             f"{other}: the folders' order is against it")
            elif (room, other) not in used:
                found.append(f"{folder}/CMakeLists.txt: {room} includes nothing "
                             f"of {other}: take it from what it USES")
    print("\n".join(found), end="\n" if found else "")
    return len(found)


def check_file(top, path, rooms, used):
    """Prints the file's violations; returns how many there are."""
    folder = path.split("/")[0]
    if folder not in MAY_INCLUDE:
        print(f"{path}: no code belongs in {folder}/; the folders are in "
              f"tests/style/layering.py")
        return 1
    text = project.read(top, path) or ""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        problem = match and include_problem(path, match.group(1), rooms,
                                            used)
        if problem:
            found.append((number, f"includes {match.group(1)}: {problem}"))
    if not path.startswith(RAW_CALL_USERS):
        for number, line in enumerate(strip_comments(text).splitlines(), 1):
            match = RAW_CALL.search(line)
            if match:
                found.append((number, f"calls {match.group(1)}(): raw kernel "
                              "calls are for sandbox/os/ only"))
    for number, problem in sorted(found):
        print(f"{path}:{number}: {problem}")
    return len(found)


def main(top):
    rooms, used = read_rooms(top), set()
    bad = sum(check_file(top, path, rooms, used)
              for path in project.files(top, ".h", ".cc", ".c")
              # Programs that tests run are inputs, not code of a layer.
              if not path.startswith("tests/payloads/"))
    bad += check_rooms(rooms, used)
    if bad:
        print(f"layering: {bad} violations", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else project.root()))
