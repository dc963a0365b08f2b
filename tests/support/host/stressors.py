#!/usr/bin/python3
"""Runs every stressor of stress-ng in a jail while a neighbour works in another.

usage: stressors.py --client PROGRAM --address ADDRESS [--seconds N] [--only A,B]

Prints a table in Markdown: how each stressor's run ended, and how long the
neighbour's work took meanwhile, beside what it takes next to a program that
does nothing but count (the share of the machine that any program may use). A
stressor that slows the neighbour more than that is tried again twice, and the
best of the three counts: what others do on the machine passes. Exit code 1 when
the daemon refused a run, a jail could not be made, or a neighbour's answer was
wrong.
"""

import argparse
import base64
import collections
import json
import subprocess
import sys
import time

LIMITS = ["--memory", "192M", "--pids", "48", "--cpu-time", "20s"]
# A slowdown from which a stressor is tried again.
SUSPICIOUS = 1.5

# What a neighbour does: a little of most of the kernel.
NEIGHBOUR = """
import mmap, os, socket, threading, time
def work():
    for i in range(20):
        with open('/tmp/f%d' % i, 'wb') as file:
            file.write(bytes(20000))
        os.unlink('/tmp/f%d' % i)
        with mmap.mmap(-1, 1 << 20) as area:
            for page in range(0, 1 << 20, 4096):
                area[page] = 1
        left, right = socket.socketpair()
        left.send(b'x' * 1000)
        right.recv(1000)
        left.close()
        right.close()
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    return sum(i * i for i in range(50000))
start = time.monotonic()
result = work()
print(result, time.monotonic() - start)
"""
NEIGHBOUR_RESULT = str(sum(i * i for i in range(50000)))


class Client:
    def __init__(self, program, address):
        self.command = [program, "--address", address, "run", "--json"]
        self.refused = []

    def start(self, *arguments):
        return subprocess.Popen([*self.command, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True)

    def end(self, process, what):
        out, err = process.communicate(timeout=120)
        try:
            return json.loads(out)
        except ValueError:
            self.refused.append(f"{what}: {err.strip()[-200:]}")
            return {"outcome": "REFUSED"}

    def run(self, what, *arguments):
        return self.end(self.start(*arguments), what)


def text(answer, stream):
    data = answer.get(stream, {}).get("data", "")
    return base64.b64decode(data).decode(errors="replace")


def neighbour(client, samples, wrong):
    answer = client.run("neighbour", "-l", "python", "-c", NEIGHBOUR)
    words = text(answer, "stdout").split()
    if len(words) != 2 or words[0] != NEIGHBOUR_RESULT:
        wrong.append(f"{answer.get('outcome')}: {words} {text(answer, 'stderr')[-200:]}")
        return
    samples.append(float(words[1]))


def beside(client, seconds, code, wrong):
    """Runs `code` in a jail, and the neighbour as often as it lasts."""
    process = client.start("-l", "bash", "-c", code, "--timeout",
                           f"{seconds + 8}s", *LIMITS)
    samples = []
    start = time.monotonic()
    time.sleep(0.2)
    while process.poll() is None and time.monotonic() - start < seconds:
        neighbour(client, samples, wrong)
    answer = client.end(process, code)
    took = time.monotonic() - start
    if not samples:
        neighbour(client, samples, wrong)
    return answer, sorted(samples), took


def median(samples):
    return samples[len(samples) // 2] if samples else float("nan")


def how(answer):
    outcome = answer.get("outcome", "?").replace("OUTCOME_", "")
    if outcome == "NONZERO_EXIT":
        # stress-ng's own: 2 a stressor failed, 3 no resource, 4 not possible
        # here, 7 metrics not to be trusted.
        outcome = {2: "failed", 3: "no resource", 4: "not possible"}.get(
            answer.get("exitCode"), f"exit {answer.get('exitCode')}")
    return outcome


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    client = Client(options.client, options.address)
    names = options.only.split(",") if options.only else subprocess.run(
        ["stress-ng", "--stressors"], capture_output=True, text=True,
        check=True).stdout.split()
    wrong = []
    seconds = options.seconds

    def spin():
        return beside(client, seconds, "while :; do :; done & sleep %s" % seconds,
                      wrong)[1]

    alone = []
    for _ in range(20):
        neighbour(client, alone, wrong)
    alone.sort()
    reference = spin()
    print(f"alone {median(alone) * 1000:.1f} ms, "
          f"beside a loop {median(reference) * 1000:.1f} ms\n")
    print("| stressor | ended | seconds | neighbour ms | x a loop |")
    print("|---|---|--:|--:|--:|", flush=True)
    endings = collections.Counter()
    worst = []
    for number, name in enumerate(names):
        if number % 10 == 9:
            reference = spin()
        code = (f"stress-ng --pathological --{name} 1 --timeout {seconds:g} --temp-path /tmp "
                "2>&1 | tail -n 3; exit ${PIPESTATUS[0]}")
        best = float("inf")
        for attempt in range(3):
            answer, samples, took = beside(client, seconds, code, wrong)
            base = median(reference)
            best = min(best, median(samples) / base if base > 0 else 0)
            if best < SUSPICIOUS:
                break
            if attempt < 2:
                reference = spin()
        ending = how(answer)
        endings[ending] += 1
        worst.append((best, name))
        print(f"| {name} | {ending} | {took:.1f} | "
              f"{median(samples) * 1000:.1f} | {best:.2f} |", flush=True)
    print()
    print(", ".join(f"{n} {e}" for e, n in endings.most_common()))
    print("worst for the neighbour: " + ", ".join(
        f"{name} {ratio:.2f}" for ratio, name in sorted(worst, reverse=True)[:10]))
    for complaint in client.refused + wrong:
        print("BAD " + complaint)
    broken = any(e in ("REFUSED", "JAIL_FAILED") for e in endings)
    return 1 if client.refused or wrong or broken else 0


if __name__ == "__main__":
    sys.exit(main())
