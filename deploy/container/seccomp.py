#!/usr/bin/python3
"""Writes seccomp.json beside it: the filter of system calls for a container with
sandglassd in it, as Docker, Podman and Kubernetes read it.

usage: seccomp.py [--check]

It allows what the jails' own filters allow (policy/data/seccomp), what making
jails takes, and nothing else. --check only says whether the file is as it would
be written.
"""

import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(HERE, "../../policy/data/seccomp")
FILE = os.path.join(HERE, "seccomp.json")

# What a spawner, a zygote or an init does before the program is there.
JAILS = """chroot clone3 fsconfig fsmount fsopen fspick mount mount_setattr
    move_mount open_tree pivot_root seccomp setdomainname sethostname setns
    umount2 unshare""".split()
# What the daemon and its helpers do, and the engine that starts them.
DAEMON = """inotify_add_watch inotify_init1 inotify_rm_watch name_to_handle_at
    sync syncfs""".split()
ENOSYS = 38


def rules(folder):
    for name in sorted(os.listdir(os.path.join(RULES, folder))):
        with open(os.path.join(RULES, folder, name), encoding="utf-8") as file:
            text = re.sub(r"^\s*//.*$", "", file.read(), flags=re.MULTILINE)
        yield from json.loads(text)["rules"]


def for_programs():
    """The calls that some filter lets pass, whatever it says of arguments."""
    names = set()
    for folder in ("sets", "additions"):
        for rule in rules(folder):
            if rule["action"] in ("allow", "ignore"):
                names.update(rule["calls"])
    return names


def profile():
    # A refused call gets what a jail's own filter answers: an older kernel.
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": ENOSYS,
        # The jails' own filters refuse the sub-architectures, without a signal.
        "archMap": [{
            "architecture": "SCMP_ARCH_X86_64",
            "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        }, {
            "architecture": "SCMP_ARCH_AARCH64",
            "subArchitectures": ["SCMP_ARCH_ARM"],
        }],
        "syscalls": [{
            "names": sorted(for_programs().union(JAILS, DAEMON)),
            "action": "SCMP_ACT_ALLOW",
        }],
    }


def main():
    text = json.dumps(profile(), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        with open(FILE, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit("deploy/container/seccomp.json is out of date; "
                         "run: deploy/container/seccomp.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__.strip())
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
