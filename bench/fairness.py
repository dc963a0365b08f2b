#!/usr/bin/python3
"""What a tenant gets while others ask for ten times what the machine can do.

usage: PYTHON bench/fairness.py SANDGLASSD [SECONDS]      (root)

PYTHON and the daemon are as for remote.py. SECONDS, 20 unless said otherwise,
is how long each part takes.

1. A tenant sends one `print(1)` at a time. In turns it has the machine for
   itself, and another tenant sends ten times what can be done, without waiting
   for answers. Its times are compared.
2. Twenty tenants send ten times their part each, half of them long runs and
   half short ones. What each got is compared: Jain's index is 1 where all have
   the same, and 1/20 where one has all.
3. The same of two tenants with the weights 3 and 1, and of one with batch runs
   beside one with interactive ones.

A run's cost is its memory, of which all have the same, times its time.
"""

import contextlib
import json
import multiprocessing
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import grpc
from remote import daemon
from sandglass.v1 import identity_pb2, identity_service_pb2_grpc, run_pb2
from sandglass.v1 import sandbox_service_pb2_grpc

TENANTS = 20
TIMES = 10
ROUNDS = 4
LONG, SHORT = 0.4, 0.1  # seconds of a processor
PARTS = "queue", "acquire", "stage_in", "run", "stage_out"
MESSAGE = [("grpc.max_receive_message_length", 16 << 20)]


def spin(seconds):
    return (f"import time\nend = time.process_time() + {seconds}\n"
            "while time.process_time() < end: pass")


def stub(address):
    return sandbox_service_pb2_grpc.SandboxServiceStub(
        grpc.insecure_channel(address, MESSAGE))


def bearer(address, tenant):
    identity = identity_service_pb2_grpc.IdentityServiceStub(
        grpc.insecure_channel(address))
    request = identity_pb2.CreateTokenRequest(tenant=tenant)
    return [("authorization", "Bearer " + identity.CreateToken(request).value)]


class Load:
    """Calls at a steady rate, whatever comes of them."""

    def __init__(self, address, metadata, code, rate):
        self.run = run_pb2.RunCodeRequest(language="python", code=code)
        self.sandbox = stub(address)
        self.metadata, self.rate = metadata, rate
        self.lock = threading.Lock()
        self.cost, self.done, self.refused = 0.0, 0, 0

    def send(self, until):
        next_call = time.monotonic()
        while (now := time.monotonic()) < until:
            if now < next_call:
                time.sleep(next_call - now)
            next_call = max(next_call + 1 / self.rate, now - 0.1)
            call = self.sandbox.RunCode.future(
                self.run, metadata=self.metadata, timeout=60)
            call.add_done_callback(self.note)

    def note(self, call):
        with self.lock:
            if call.code() == grpc.StatusCode.OK:
                wall = call.result().usage.wall_time.ToNanoseconds() / 1e9
                self.cost += wall
                self.done += 1
            elif call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
                self.refused += 1


def carry(loads, warm_up, seconds, ready, answers):
    """Sends what `loads` says, in a process of its own."""
    made = [Load(*load) for load in loads]
    until = time.monotonic() + warm_up + seconds
    threads = [threading.Thread(target=load.send, args=(until,))
               for load in made]
    for thread in threads:
        thread.start()
    time.sleep(warm_up)
    before = [(load.cost, load.done, load.refused) for load in made]
    ready.set()
    time.sleep(seconds)
    answers.put([
        (load.cost - cost, load.done - done, load.refused - refused)
        for load, (cost, done, refused) in zip(made, before)])
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def loaded(loads, seconds, warm_up=3):
    """What each load got, once the block has ended: appended to what is given."""
    # gRPC can't be used on both sides of a fork.
    spawn = multiprocessing.get_context("spawn")
    ready, answers = spawn.Event(), spawn.Queue()
    process = spawn.Process(
        target=carry, args=(loads, warm_up, seconds, ready, answers))
    process.start()
    ready.wait()
    got = []
    yield got
    got.extend(answers.get())
    process.terminate()
    process.join()


def one_at_a_time(sandbox, metadata, seconds):
    """The times of runs in milliseconds, their parts that the daemon tells, and
    how many were refused."""
    run = run_pb2.RunCodeRequest(language="python", code="print(1)")
    times, parts, refused = [], {part: [] for part in PARTS}, 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.perf_counter()
        try:
            answer = sandbox.RunCode(run, metadata=metadata)
            times.append((time.perf_counter() - start) * 1e3)
            for part, taken in parts.items():
                taken.append(
                    getattr(answer.timings, part).ToNanoseconds() / 1e6)
        except grpc.RpcError as error:
            refused += error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        time.sleep(0.002)
    return times, parts, refused


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def capacity(address, metadata, code):
    """Runs a second, eight at a time."""
    sandbox, run = stub(address), run_pb2.RunCodeRequest(
        language="python", code=code)
    until = time.monotonic() + 5
    done = []

    def repeat():
        while time.monotonic() < until:
            sandbox.RunCode(run, metadata=metadata)
            done.append(1)

    threads = [threading.Thread(target=repeat) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done) / 5


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def light_beside_heavy(address, rate, seconds):
    light, heavy = bearer(address, "light"), bearer(address, "heavy")
    sandbox = stub(address)
    one_at_a_time(sandbox, light, 1)
    alone, beside, parts, refused = [], [], {part: [] for part in PARTS}, 0
    ratios = []
    for _ in range(ROUNDS):
        quiet, _, _ = one_at_a_time(sandbox, light, seconds / ROUNDS)
        with loaded([(address, heavy, spin(LONG), TIMES * rate)],
                    seconds / ROUNDS) as got:
            busy, took, lost = one_at_a_time(sandbox, light, seconds / ROUNDS)
        alone += quiet
        beside += busy
        for part, taken in parts.items():
            taken += took[part]
        refused += lost
        ratios.append(quantile(busy, 0.99) / quantile(quiet, 0.99))
        print(f"  round: alone p50 {quantile(quiet, 0.5):.1f} p99 "
              f"{quantile(quiet, 0.99):.1f} ms, beside p50 "
              f"{quantile(busy, 0.5):.1f} p99 {quantile(busy, 0.99):.1f} ms, "
              "the other: "
              f"{got[0][1]} done, {got[0][2]} refused")
        time.sleep(1)
    print(f"light beside heavy: p99 {quantile(beside, 0.99):.1f} ms of "
          f"{len(beside)} runs, alone {quantile(alone, 0.99):.1f} ms of "
          f"{len(alone)}: {quantile(beside, 0.99) / quantile(alone, 0.99):.2f} x "
          f"(rounds {min(ratios):.2f} to {max(ratios):.2f}), p50 "
          f"{quantile(beside, 0.5) / quantile(alone, 0.5):.2f} x; {refused} "
          "refused; parts, p99: " + ", ".join(
              f"{part} {quantile(taken, 0.99):.1f} ms"
              for part, taken in parts.items()))


def many_tenants(address, rate, seconds):
    loads = []
    for number in range(TENANTS):
        length = LONG if number % 2 == 0 else SHORT
        part = rate * LONG / length / TENANTS
        loads.append((address, bearer(address, f"team-{number}"), spin(length),
                      TIMES * part))
    with loaded(loads, seconds, warm_up=10) as got:
        pass
    costs = [cost for cost, _, _ in got]
    print(f"{TENANTS} tenants: Jain's index of cost {jain(costs):.4f}, "
          f"{min(costs):.2f} to {max(costs):.2f} s, mean "
          f"{statistics.mean(costs):.2f}; runs {min(g[1] for g in got)} to "
          f"{max(g[1] for g in got)}; refused {sum(g[2] for g in got)}")


def two_tenants(address, rate, seconds, first, second):
    loads = [(address, bearer(address, tenant), spin(SHORT),
              TIMES * rate * LONG / SHORT / 2) for tenant in (first, second)]
    with loaded(loads, seconds, warm_up=10) as got:
        pass
    (one, _, _), (other, _, _) = got
    print(f"{first} beside {second}: {one:.1f} s and {other:.1f} s of runs, "
          f"{one / max(other, 1e-9):.2f} to 1")


def main():
    binary = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = pathlib.Path(name)
        tenants = place / "tenants"
        tenants.mkdir()
        for tenant, text in (("three", {"weight": 3}), ("one", {"weight": 1}),
                             ("batch", {"priority": "batch"})):
            (tenants / f"{tenant}.json").write_text(json.dumps(text))
        more = {"tenants_dir": str(tenants)}
        with daemon(binary, place, more) as (_, address, _):
            rate = capacity(address, bearer(address, "heavy"), spin(LONG))
            print(f"the machine does {rate:.1f} runs of {LONG} s a second")
            light_beside_heavy(address, rate, seconds)
            many_tenants(address, rate, seconds)
            two_tenants(address, rate, seconds, "three", "one")
            two_tenants(address, rate, seconds, "one", "batch")


if __name__ == "__main__":
    main()
