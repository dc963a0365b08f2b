#!/usr/bin/python3
"""Asks libseccomp's simulator what filter_cases says of a compiled policy.

usage: simulate_filter.py SIMULATOR FILTER <CASES

Exit code 1 when it disagrees in a case.
"""

import subprocess
import sys

ALLOW = 0x7FFF0000


def main():
    simulator, program = sys.argv[1:]
    cases = differing = 0
    for line in sys.stdin:
        architecture, number, *arguments, answer = line.split()
        command = [simulator, "-f", program, "-a", architecture, "-s", number]
        for index, value in enumerate(arguments):
            command += [f"-{index}", value]
        said = subprocess.run(command, capture_output=True, text=True,
                              check=False).stdout.strip()
        answer = int(answer, 16)
        ours = "ALLOW" if answer == ALLOW else f"ERRNO({answer & 0xFFFF})"
        cases += 1
        if said != ours:
            differing += 1
            print(f"{line.strip()}: the simulator says {said}, not {ours}")
    print(f"{cases} cases, {differing} differ")
    return 1 if differing or cases == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
