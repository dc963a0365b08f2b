#!/usr/bin/python3
"""How many runs a second machines with more processors would make, and what
would be in the way there.

usage: sudo bench/model.py BIN ADDRESS DAEMON_PID     (a daemon is running)

It measures this machine first: eight callers of `print(1)`, and what each
process and thread that all runs pass spends on one. From these it makes a
closed queueing network, whose stations are the processors and whatever does
one thing at a time: each spawner and each zygote, the daemon's busiest threads,
the kernel's lock of control groups. Eight runs for each processor are always
under way. The network is solved exactly (mean value analysis), a station of
several servers as a faster one with a delay before it (Seidmann). Its figure
for this machine stands beside the measured one, which says how far to trust it:
it knows of nothing that processors share, such as memory and caches.
"""

import os
import pathlib
import subprocess
import sys
import time

CALLERS = 8
CALLS = 90  # of each caller; a zygote is renewed after 1000
PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128)
IN_FLIGHT = 8  # for each processor
# Making and removing the groups of one jail, in milliseconds: what perf(1) saw
# of a spawner in these calls (docs/performance.md), nearly all of it under the
# one lock that they share.
GROUPS_MS = 0.24


def spawners_of(processors):
    """The default of pool.spawners."""
    return min(8, max(1, processors // 4))


def pollers_of(processors):
    """Threads of gRPC that read calls, in CallbackAlternativeCQ of gRPC 1.51."""
    return min(16, max(2, processors // 2))


def solve(stations, customers):
    """Exact mean value analysis of stations (servers, seconds of one run).
    Returns runs a second."""
    delay = sum(need * (servers - 1) / servers for servers, need in stations)
    queues = [0.0] * len(stations)
    rate = 0.0
    for n in range(1, customers + 1):
        waits = [
            need / servers * (1 + queue)
            for (servers, need), queue in zip(stations, queues)
        ]
        rate = n / (delay + sum(waits))
        queues = [rate * wait for wait in waits]
    return rate


def check_solver():
    # One station: its capacity, whatever the number; two equal ones: n / (n + 1).
    assert abs(solve([(1, 0.5)], 7) - 2) < 1e-9
    assert abs(solve([(1, 0.5), (1, 0.5)], 3) - 2 * 3 / 4) < 1e-9
    assert abs(solve([(4, 1.0)], 1) - 1) < 1e-9


def busy_seconds():
    """Of all processors of the machine, since its start."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _, _, irq, softirq = map(int, fields[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def children_of(pid):
    children = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "children").read_text()
        children += [int(child) for child in text.split()]
    return children


def serving(pid):
    """The daemon, where this is its supervisor."""
    for child in children_of(pid):
        if pathlib.Path(f"/proc/{child}/comm").read_text() == "sandglassd\n":
            return child
    return pid


def tree_of(pid):
    """Processes that stay: those of jails come and go."""
    found = [pid]
    for child in children_of(pid):
        found.append(child)
        found += children_of(child)
    return found


def used_seconds(pids):
    """Processor time by (process, name of the process, thread, its name)."""
    used = {}
    for pid in pids:
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                thread = (task / "comm").read_text().strip()
                spent = int((task / "schedstat").read_text().split()[0]) / 1e9
                used[pid, name, int(task.name), thread] = spent
        except OSError:
            continue  # it has ended
    return used


def measure(binary, address, daemon):
    """Returns runs a second, seconds of the machine for one run, and those of
    each process and thread that stays."""
    callers = [
        subprocess.Popen(
            [binary, address, "print(1)"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(CALLERS)
    ]

    def call(count):
        for caller in callers:
            caller.stdin.write(f"{count}\n")
            caller.stdin.flush()
        for caller in callers:
            if not caller.stdout.readline():
                sys.exit("model.py: a call failed; its words are above")

    call(CALLS // 10)
    pids = tree_of(daemon)
    before, busy = used_seconds(pids), busy_seconds()
    own = sum(used_seconds([caller.pid for caller in callers]).values())
    start = time.monotonic()
    call(CALLS)
    took = time.monotonic() - start
    own = sum(used_seconds([caller.pid for caller in callers]).values()) - own
    busy = busy_seconds() - busy
    runs = CALLERS * CALLS
    # A zygote may have been renewed meanwhile.
    after = used_seconds(tree_of(daemon))
    parts = {
        key: (spent - before.get(key, 0.0)) / runs
        for key, spent in after.items()
    }
    for caller in callers:
        caller.stdin.close()
        caller.wait()
    return runs / took, (busy - own) / runs, own / runs, parts


def stations_of(machine, client, parts, daemon):
    """(name, servers by number of processors, seconds of one run)."""
    others = {}
    pollers = 0.0
    threads = []
    for (pid, name, _, thread), spent in parts.items():
        if pid != daemon:
            others[pid, name] = others.get((pid, name), 0.0) + spent
        elif thread == "nexting_thread":
            pollers += spent
        else:
            threads.append(spent)

    def most(of):
        return max(
            (spent for (_, name), spent in others.items() if of(name)),
            default=0.0,
        )

    spawner = most(lambda name: name.startswith("sandglass-spawn"))
    zygote = most(lambda name: "python" in name or "zygote" in name)
    return [
        ("processors", lambda p: p, machine + client),
        ("spawners", spawners_of, spawner),
        ("zygotes", spawners_of, zygote),
        ("gRPC's threads", pollers_of, pollers),
        ("the daemon's busiest thread", lambda p: 1, max(threads)),
        ("control groups' lock", lambda p: 1, GROUPS_MS / 1e3),
    ]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    check_solver()
    daemon = serving(int(sys.argv[3]))
    binary = os.path.join(sys.argv[1], "sandglass-bench-calls")
    measured, machine, client, parts = measure(binary, sys.argv[2], daemon)
    stations = stations_of(machine, client, parts, daemon)
    print("| one run spends | ms |\n| --- | --- |")
    for name, _, need in stations:
        print(f"| {name} | {need * 1e3:.2f} |")
    print(f"\nof the first {client * 1e3:.2f} are the callers'\n")
    print("| processors | spawners | runs/s | x of one | busiest | by then |")
    print("| --- | --- | --- | --- | --- | --- |")
    one = None
    here = os.cpu_count()
    for count in sorted({*PROCESSORS, here}):
        sizes = [(servers(count), need) for _, servers, need in stations]
        rate = solve(sizes, IN_FLIGHT * count)
        one = one or rate
        used = [
            (rate * need / servers, name)
            for (servers, need), (name, _, _) in zip(sizes, stations)
        ]
        used.sort(reverse=True)
        beside = f" (measured {measured:.0f})" if count == here else ""
        print(
            f"| {count} | {spawners_of(count)} | {rate:.0f}{beside} "
            f"| {rate / one:.1f} | {used[0][1]} {used[0][0]:.0%} "
            f"| {used[1][1]} {used[1][0]:.0%} |"
        )


if __name__ == "__main__":
    main()
