#!/usr/bin/python3
"""What a gateway adds to a call, beside the same call straight to the node.

usage: PYTHON bench/gateway.py SANDGLASSD SANDGLASS_GATEWAY      (root)

PYTHON has the package `sandglass` with its stubs, for example
build/python-client/bin/python. Starts a node and a gateway of its own, with
certificates that openssl makes. Both ways are over TLS on loopback with a
token, in turns, so that what else the machine does hits both: one warm
`print(1)` at a time, and as many as eight callers can make.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import grpc
from remote import in_turns, make_certificate
from sandglass.v1 import identity_pb2, identity_service_pb2_grpc, run_pb2
from sandglass.v1 import sandbox_service_pb2_grpc

RUNS = 1000
CALLERS = 8
ROUNDS = 6
SECONDS = 3
NODE, GATEWAY = 18441, 18443


def client_certificate(place):
    """The gateway's own, signed by the pair of make_certificate."""
    subprocess.run(
        ["openssl", "req", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=gateway", "-keyout",
         place / "gateway.key", "-out", place / "gateway.csr"], check=True,
        capture_output=True)
    (place / "names").write_text("subjectAltName=URI:spiffe://bench/gateway\n")
    subprocess.run(
        ["openssl", "x509", "-req", "-in", place / "gateway.csr", "-CA",
         place / "cert.pem", "-CAkey", place / "key.pem", "-CAcreateserial",
         "-days", "1", "-extfile", place / "names", "-out",
         place / "gateway.pem"], check=True, capture_output=True)


def start(binary, place, name, config, ready):
    (place / f"{name}.json").write_text(json.dumps(config))
    with open(place / f"{name}.log", "w") as log:
        process = subprocess.Popen(
            [binary, "--config", place / f"{name}.json"], stderr=log)
    for _ in range(600):
        text = (place / f"{name}.log").read_text()
        if ready in text:
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    sys.exit(text)


def caller(place, socket, port):
    """A stub over TLS, and the metadata with a token of whoever serves there."""
    identity = identity_service_pb2_grpc.IdentityServiceStub(
        grpc.insecure_channel(f"unix:{socket}"))
    token = identity.CreateToken(
        identity_pb2.CreateTokenRequest(tenant="bench", principal="one"))
    channel = grpc.secure_channel(
        f"127.0.0.1:{port}",
        grpc.ssl_channel_credentials((place / "cert.pem").read_bytes()))
    return (sandbox_service_pb2_grpc.SandboxServiceStub(channel),
            [("authorization", "Bearer " + token.value)])


def main():
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        make_certificate(place)
        client_certificate(place)
        (place / "tokens").mkdir(mode=0o700)
        tls = {"certificate": str(place / "cert.pem"),
               "key": str(place / "key.pem")}
        node = start(sys.argv[1], place, "node", {
            "listen": f"tls:127.0.0.1:{NODE}", "state_dir": str(place / "state"),
            "canaries": False, "node_name": "a",
            "tls": {**tls, "client_ca": str(place / "cert.pem")},
            "identity": {"tokens_dir": str(place / "node-tokens"),
                         "gateways": ["spiffe://bench/gateway"]}},
            "listening on address")
        gateway = start(sys.argv[2], place, "gateway", {
            "listen": [f"tls:127.0.0.1:{GATEWAY}"],
            "socket": str(place / "gateway.sock"), "tls": tls,
            "identity": {"tokens_dir": str(place / "tokens")},
            "nodes": {"addresses": [f"127.0.0.1:{NODE}"],
                      "ca": str(place / "cert.pem"),
                      "certificate": str(place / "gateway.pem"),
                      "key": str(place / "gateway.key")}}, "node_there")
        try:
            measure(caller(place, place / "state" / "sandglass.sock", NODE),
                    caller(place, place / "gateway.sock", GATEWAY))
        finally:
            for process in (gateway, node):
                process.terminate()
                process.wait()


def measure(straight, through):
    run = run_pb2.RunCodeRequest(language="python", code="print(1)")
    one, other = in_turns(
        RUNS, [lambda: straight[0].RunCode(run, metadata=straight[1]),
               lambda: through[0].RunCode(run, metadata=through[1])])
    print(f"warm print(1), p50: straight {one:.0f} us, by the gateway "
          f"{other:.0f} us: {other - one:+.0f} us")
    done = [0, 0]
    for _ in range(ROUNDS):
        for way, (stub, metadata) in enumerate((straight, through)):
            done[way] += as_many_as_can_be(stub, metadata, run)
    rates = [count / (ROUNDS * SECONDS) for count in done]
    print(f"{CALLERS} callers: straight {rates[0]:.0f}, by the gateway "
          f"{rates[1]:.0f} runs a second: {rates[1] / rates[0]:.2f} x")


def as_many_as_can_be(stub, metadata, run):
    until = time.monotonic() + SECONDS

    def calls(_):
        count = 0
        while time.monotonic() < until:
            stub.RunCode(run, metadata=metadata)
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        return sum(pool.map(calls, range(CALLERS)))


if __name__ == "__main__":
    main()
