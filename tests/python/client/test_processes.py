"""Forks and child processes."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import textwrap

import pytest


def run_python(code, daemon, timeout=60):
    """What a fresh interpreter prints; fails when it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "SANDGLASS_ADDRESS": daemon.address},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fork_after_the_import(daemon):
    out = run_python(
        """
        import os, sandglass
        client = sandglass.Client()
        if os.fork() == 0:
            print("child", client.run_code("print(1)").stdout, flush=True)
            os._exit(0)
        os.wait()
        print("parent", client.run_code("print(2)").stdout)
        """,
        daemon,
    )
    assert out.split() == ["child", "1", "parent", "2"]


def test_a_fork_after_use(daemon):
    out = run_python(
        """
        import os, sandglass
        client = sandglass.Client()
        print(client.run_code("print(0)").stdout, flush=True)
        for i in range(3):
            if os.fork() == 0:
                print("child", client.run_code("print(1)").stdout, flush=True)
                os._exit(0)
            os.wait()
            print("parent", client.run_code("print(2)").stdout, flush=True)
        """,
        daemon,
    )
    assert out.split() == ["0", *["child", "1", "parent", "2"] * 3]


def test_asyncio_in_a_fork(daemon):
    out = run_python(
        """
        import asyncio, os, sandglass
        client = sandglass.AsyncClient()
        async def run():
            print((await client.run_code("print(1)")).stdout, flush=True)
        if os.fork() == 0:
            asyncio.run(run())
            os._exit(0)
        os.wait()
        asyncio.run(run())
        """,
        daemon,
    )
    assert out.split() == ["1", "1"]


def _work(pair):
    import sandglass

    address, i = pair
    with sandglass.Client(address) as client:
        return client.run_code(f"print({i})").stdout


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pools_of_processes(daemon, method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        got = list(pool.map(_work, [(daemon.address, i) for i in range(6)]))
    assert got == [f"{i}\n" for i in range(6)]


def test_an_interrupt_ends_a_call(daemon):
    out = run_python(
        """
        import os, signal, threading, sandglass
        client = sandglass.Client()
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            client.run_code("import time; time.sleep(20)", labels={"test": "int"})
        except KeyboardInterrupt:
            print("interrupted")
        import time
        for _ in range(200):
            runs = client.runs(test="int")
            if all(run.outcome for run in runs):
                break
            time.sleep(0.02)
        print(len(runs), runs[0].outcome)
        """,
        daemon,
    )
    assert out.split() == ["interrupted", "1", "CANCELLED"]
