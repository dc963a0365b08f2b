#!/usr/bin/python3
"""Prints an OCI config.json like the one that `docker run` gives to its runtime,
with sandglassd in the container.

usage: container_config.py --rootfs DIR --socket-dir DIR [OPTION...] [-- COMMAND...]

The options are named after docker's. The filter of system calls is made from
the one that Debian's golang-github-containers-common ships, less what Docker's
own refuses beyond it.
"""

import argparse
import json

SECCOMP = "/usr/share/containers/seccomp.json"

DEFAULT_CAPS = """CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID
    SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE""".split()
MASKED = """/proc/asound /proc/acpi /proc/kcore /proc/keys /proc/latency_stats
    /proc/timer_list /proc/timer_stats /proc/sched_debug /proc/scsi
    /sys/firmware /sys/devices/virtual/powercap""".split()
READ_ONLY = "/proc/bus /proc/fs /proc/irq /proc/sys /proc/sysrq-trigger".split()
# What Docker's filter allows only with CAP_SYS_ADMIN.
FOR_ADMINS = """bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick
    mount mount_setattr move_mount open_tree setns sethostname setdomainname
    umount umount2 unshare""".split()
NAMESPACE_FLAGS = 0x7E020000
ERRNO, ALLOW = "SCMP_ACT_ERRNO", "SCMP_ACT_ALLOW"
DEVICES = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2))


def applies(rule, caps):
    """Whether a rule of the shipped profile is for these rights and x86-64."""
    wanted, unwanted = rule.get("includes", {}), rule.get("excludes", {})
    native = {"amd64", "x86"}
    return (set(wanted.get("caps", [])) <= caps
            and not caps & set(unwanted.get("caps", []))
            and native & set(wanted.get("arches", native))
            and not native & set(unwanted.get("arches", [])))


def seccomp(caps, pivot_root):
    with open(SECCOMP, encoding="utf-8") as file:
        shipped = json.load(file)
    admin = "CAP_SYS_ADMIN" in caps
    refused = set() if pivot_root else {"pivot_root"}
    rules = []
    for rule in shipped["syscalls"]:
        if not applies(rule, caps):
            continue
        new = {key: rule[key] for key in ("action", "errnoRet") if key in rule}
        new["args"] = rule.get("args") or []
        left_out = set(refused)
        if not admin and rule["action"] == ALLOW and not new["args"]:
            left_out |= set(FOR_ADMINS)
        new["names"] = [n for n in rule["names"] if n not in left_out]
        if new["names"]:
            rules.append(new)
    if not admin:
        rules.append({"names": ["clone"], "action": ALLOW, "args": [
            {"index": 0, "value": NAMESPACE_FLAGS, "valueTwo": 0,
             "op": "SCMP_CMP_MASKED_EQ"}]})
        rules.append({"names": ["clone3"], "action": ERRNO, "errnoRet": 38})
    return {"defaultAction": ERRNO, "defaultErrnoRet": 1, "syscalls": rules,
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86",
                              "SCMP_ARCH_X32"]}


def all_caps():
    """What this process itself has: a runtime can't give more."""
    with open("/proc/self/status", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("CapEff"))
    bits = int(line.split()[1], 16)
    names = DEFAULT_CAPS + """DAC_READ_SEARCH NET_ADMIN IPC_LOCK SYS_MODULE
        SYS_RAWIO SYS_PTRACE SYS_ADMIN SYS_NICE SYS_RESOURCE SYS_TIME SYSLOG
        BPF PERFMON""".split()
    return [n for n in names if n != "SYS_RESOURCE" or bits >> 24 & 1]


def mount(point, kind, *options, source=None):
    return {"destination": point, "type": kind, "source": source or kind,
            "options": list(options)}


def config(args):
    caps = all_caps() if args.privileged else list(
        args.cap_add if args.cap_drop_all else DEFAULT_CAPS + args.cap_add)
    full = ["CAP_" + name for name in caps]
    bare = args.privileged or args.systempaths_unconfined
    cgroup = "rw" if args.privileged or args.writable_cgroup else "ro"
    nodev = ("nosuid", "noexec", "nodev")
    namespaces = ["pid", "ipc", "uts", "mount", "network"]
    if args.host_cgroups:
        groups = mount("/sys/fs/cgroup", "bind", "rbind", cgroup,
                       source="/sys/fs/cgroup")
    else:
        namespaces.append("cgroup")
        groups = mount("/sys/fs/cgroup", "cgroup", cgroup, *nodev)
    devices = [{"allow": args.privileged, "access": "rwm"}]
    devices += [{"allow": True, "type": "c", "major": major, "minor": minor,
                 "access": "rwm"} for major, minor in DEVICES]
    devices += [{"allow": True, "type": "c", "access": "m"}]
    linux = {
        "namespaces": [{"type": kind} for kind in namespaces],
        "maskedPaths": [] if bare else MASKED,
        "readonlyPaths": [] if bare else READ_ONLY,
        "cgroupsPath": "/sandglass-container-test",
        "resources": {"devices": devices},
    }
    if not (args.privileged or args.seccomp_unconfined):
        linux["seccomp"] = seccomp(set(full), args.allow_pivot_root)
    if args.userns_remap:
        ids = [{"containerID": 0, "hostID": 1879300000, "size": 65536}]
        linux["namespaces"].append({"type": "user"})
        linux["uidMappings"] = linux["gidMappings"] = ids
    process = {
        "terminal": False, "cwd": "/", "user": {"uid": 0, "gid": 0},
        "args": args.command,
        "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "capabilities": {kind: full for kind in
                         ("bounding", "effective", "permitted")},
        "noNewPrivileges": args.no_new_privileges,
    }
    if args.apparmor:
        process["apparmorProfile"] = args.apparmor
    return {
        "ociVersion": "1.0.2", "process": process, "linux": linux,
        "root": {"path": args.rootfs, "readonly": False},
        "hostname": "container",
        "mounts": [
            mount("/proc", "proc", *nodev),
            mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755"),
            mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance"),
            mount("/sys", "sysfs", *nodev, "rw" if args.privileged else "ro"),
            groups,
            mount("/dev/mqueue", "mqueue", *nodev),
            mount("/dev/shm", "tmpfs", *nodev, "mode=1777"),
            mount("/run/sandglass", "bind", "rbind", "rw",
                  source=args.socket_dir),
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rootfs", required=True)
    parser.add_argument("--socket-dir", required=True)
    parser.add_argument("--cap-add", action="append", default=[])
    parser.add_argument("--apparmor")
    for flag in ("privileged", "cap-drop-all", "no-new-privileges",
                 "seccomp-unconfined", "systempaths-unconfined",
                 "writable-cgroup", "userns-remap", "host-cgroups",
                 "allow-pivot-root"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("command", nargs="+")
    print(json.dumps(config(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
