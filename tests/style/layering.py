#!/usr/bin/python3
"""Dependencies between folders point one way, and raw kernel calls live in
one place.

usage: layering.py [DIR]      (DIR: the tree to check, by default the clone)

The rules are the tables below; DIR's .h, .cc and .c files are read, no build
is needed.
"""

import re
import sys

import project

# Folder → the project's include paths it may use, longest match decides.
# A folder that isn't named here may not hold code.
MAY_INCLUDE = {
    "policy": ["policy/"],
    "sandbox": ["policy/", "sandbox/", "internal/"],
    # Of internal/ only what it writes for itself.
    "server": ["policy/", "sandbox/", "server/", "internal/durable.",
               "sandglass/v1/", "google/rpc/"],
    # Of policy/ only the audit log's format.
    "client": ["client/", "policy/audit/", "sandglass/v1/", "google/rpc/"],
    "tests": ["policy/", "sandbox/", "server/", "client/", "tests/",
              "internal/", "sandglass/v1/", "google/rpc/"],
    "bench": ["bench/", "client/", "policy/", "sandbox/", "server/", "tests/",
              "internal/", "sandglass/v1/", "google/rpc/"],
}
# Every first folder of an include that is the project's.
PROJECT_INCLUDES = ("policy/", "sandbox/", "server/", "client/", "tests/",
                    "bench/", "internal/", "sandglass/", "google/rpc/")

# Inside sandbox/: os/ is the bottom, what runs in a jail knows nothing of the
# spawner, and the spawner starts what runs in a jail.
SANDBOX_MAY_NOT = {
    "sandbox/os/": ["sandbox/", "internal/", "policy/"],
    "sandbox/jailed/": ["sandbox/spawner/"],
    "sandbox/zygote/": ["sandbox/spawner/"],
    "sandbox/file_agent/": ["sandbox/spawner/"],
}
# The exception to a rule above: the folder itself.
SANDBOX_MAY = {"sandbox/os/": ["sandbox/os/"]}

# gRPC can't be in a process that forks without exec, so only these may use it.
# Of server/ that is its edge alone; the other rooms know nothing of gRPC.
GRPC_USERS = ("server/rpc/", "client/", "tests/", "bench/")
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


def include_problem(path, include):
    """Why the file may not include this; None when it may."""
    folder = path.split("/")[0]
    if include.startswith(PROJECT_INCLUDES):
        if not include.startswith(tuple(MAY_INCLUDE[folder])):
            return f"{folder}/ may not depend on {include.rsplit('/', 1)[0]}/"
        for inner, forbidden in SANDBOX_MAY_NOT.items():
            if (path.startswith(inner) and include.startswith(tuple(forbidden))
                    and not include.startswith(
                        tuple(SANDBOX_MAY.get(inner, ())) or ("\0",))):
                return f"{inner} may not depend on {include.rsplit('/', 1)[0]}/"
    # Sent into jails as it is: a program that knows nothing of the others.
    if (path.startswith("client/probe/")
            and include.startswith(PROJECT_INCLUDES)
            and not include.startswith("client/probe/")):
        return "client/probe/ may not depend on anything else"
    if GRPC_INCLUDE.search(include) and not path.startswith(GRPC_USERS):
        return "gRPC is for server/rpc/ and client/ only"
    if RAW_HEADER.match(include) and not path.startswith(RAW_HEADER_USERS):
        also = next((pattern for prefix, pattern in RAW_HEADER_ALSO.items()
                     if path.startswith(prefix)), None)
        if not (also and also.match(include)):
            return "raw kernel headers are for sandbox/os/ only"
    return None


def check_file(top, path):
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
        problem = match and include_problem(path, match.group(1))
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
    bad = sum(check_file(top, path)
              for path in project.files(top, ".h", ".cc", ".c")
              # Programs that tests run are inputs, not code of a layer.
              if not path.startswith("tests/payloads/"))
    if bad:
        print(f"layering: {bad} violations", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else project.root()))
