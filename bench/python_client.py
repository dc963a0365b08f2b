#!/usr/bin/python3
"""What the Python client adds to a warm run, and to a program's start.

usage: SANDGLASS_ADDRESS=… bench/python_client.py CALLS_BINARY

A daemon runs at that address, the package is installed in the Python that runs
this (tests/python/run.sh makes such a one), and CALLS_BINARY is
build/bin/sandglass-bench-calls. The three clients take turns, a few calls each,
so that what else the machine does meets all of them.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import time

import sandglass

CODE = "pass"
ROUNDS = 40
CALLS = 10  # of each client in a round
STARTS = 30
MOST_ADDED_MS = 1.0
MOST_IMPORT = 1.3


def of_cpp(peer: subprocess.Popen) -> list[float]:
    peer.stdin.write(f"{CALLS}\n")
    peer.stdin.flush()
    return [int(word) / 1e6 for word in peer.stdout.readline().split()]


def of_sync(client: sandglass.Client) -> list[float]:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        assert client.run_code(CODE).ok
        times.append((time.perf_counter() - begin) * 1e3)
    return times


async def of_async(client: sandglass.AsyncClient) -> list[float]:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        assert (await client.run_code(CODE)).ok
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def import_ms(module: str) -> float:
    program = (
        "import time; begin = time.perf_counter(); "
        f"import {module}; print((time.perf_counter() - begin) * 1e3)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return float(run.stdout)


def main() -> int:
    address = os.environ["SANDGLASS_ADDRESS"]
    cpp, plain, aio = [], [], []
    with (
        sandglass.Client(address) as client,
        asyncio.Runner() as runner,
        subprocess.Popen(
            [sys.argv[1], address, CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as peer,
    ):
        async_client = sandglass.AsyncClient(address)
        for round_number in range(ROUNDS + 1):
            times = (
                of_cpp(peer),
                of_sync(client),
                runner.run(of_async(async_client)),
            )
            if round_number == 0:
                continue  # connections, imports, a pool that fills
            for all_times, new in zip((cpp, plain, aio), times, strict=True):
                all_times += new
        runner.run(async_client.close())
        peer.stdin.close()
    base = statistics.median(cpp)
    print(f"a warm run, p50 of {len(cpp)}: C++ {base:.2f} ms")
    failed = False
    for name, times in (("Client", plain), ("AsyncClient", aio)):
        added = statistics.median(times) - base
        failed |= added > MOST_ADDED_MS
        print(f"  {name}: {added:+.2f} ms (bar {MOST_ADDED_MS:g})")
    pairs = [(import_ms("grpc"), import_ms("sandglass")) for _ in range(STARTS)]
    grpc_ms, own_ms = (statistics.median(side) for side in zip(*pairs, strict=True))
    failed |= own_ms / grpc_ms > MOST_IMPORT
    print(
        f"import sandglass ÷ import grpc: {own_ms / grpc_ms:.2f} "
        f"({own_ms:.1f} ms and {grpc_ms:.1f}; bar {MOST_IMPORT:g})"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
