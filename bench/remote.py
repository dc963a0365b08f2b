#!/usr/bin/python3
"""What TLS, tokens and idle connections cost, beside the unix socket.

usage: PYTHON bench/remote.py SANDGLASSD [IDLE]      (root)

PYTHON has the package `sandglass` with its stubs, for example
build/python-client/bin/python. Starts a daemon of its own with a certificate
that openssl makes. Calls over the unix socket and over TLS on loopback are made
in turns, so that what else the machine does hits both. IDLE connections, 10000
unless said otherwise, come from many addresses of 127.0.0.0/8, as no caller may
have more than its share.
"""

import contextlib
import json
import pathlib
import re
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import grpc
from sandglass.v1 import identity_pb2, identity_service_pb2_grpc, run_pb2
from sandglass.v1 import sandbox_service_pb2_grpc

RUNS = 600
CHECKS = 3000
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
# Whatever the machine's limit of files is, the daemon has room for connections
# rather than for sessions.
FEW_SESSIONS = {"sessions": {"max": 8, "reserve": 8}}


def make_certificate(place):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=bench",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", place / "key.pem",
         "-out", place / "cert.pem"], check=True, capture_output=True)


@contextlib.contextmanager
def daemon(binary, place, more=None):
    make_certificate(place)
    config = {
        "listen": "tls:127.0.0.1:0", "state_dir": str(place / "state"),
        "canaries": False,
        "tls": {"certificate": str(place / "cert.pem"),
                "key": str(place / "key.pem")},
        "identity": {"tokens_dir": str(place / "tokens")}, **(more or {})}
    (place / "config.json").write_text(json.dumps(config))
    with open(place / "log", "w") as log:
        process = subprocess.Popen(
            [binary, "--config", place / "config.json"], stderr=log)
    try:
        for _ in range(600):
            text = (place / "log").read_text()
            if "listening on" in text:
                break
            if process.poll() is not None:
                sys.exit(text)
            time.sleep(0.1)
        port = int(re.search(r"with TLS address=127.0.0.1:(\d+)", text)[1])
        yield process, f"unix:{place}/state/sandglass.sock", port
    finally:
        process.terminate()
        process.wait()


def in_turns(count, calls):
    """The p50 of each call, in microseconds."""
    times = [[] for _ in calls]
    for i in range(count + 20):
        for call, taken in zip(calls, times):
            start = time.perf_counter_ns()
            call()
            if i >= 20:
                taken.append((time.perf_counter_ns() - start) / 1e3)
    return [statistics.median(taken) for taken in times]


def memory_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def frame(kind, flags, stream, payload):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + payload)


def literal(name, value):
    """A header field as HPACK has it without a table (RFC 7541, 6.2.2)."""
    return (bytes([0, len(name)]) + name.encode() + bytes([len(value)])
            + value.encode())


def who_am_i(token):
    """The bytes of a client that proves who it is, and then is quiet."""
    fields = [(":method", "POST"), (":scheme", "https"),
              (":path", "/sandglass.v1.IdentityService/WhoAmI"),
              (":authority", "127.0.0.1"), ("te", "trailers"),
              ("content-type", "application/grpc"),
              ("authorization", "Bearer " + token)]
    return (PREFACE + frame(SETTINGS, 0, 0, b"")
            + frame(HEADERS, END_HEADERS, 1,
                    b"".join(literal(*field) for field in fields))
            + frame(DATA, END_STREAM, 1, bytes(5)))


def connect_idle(port, count, token):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    held = []
    for i in range(count):
        plain = socket.socket()
        plain.bind((f"127.{1 + i // 100 // 250}.{1 + i // 100 % 250}.1", 0))
        plain.connect(("127.0.0.1", port))
        try:
            held.append(context.wrap_socket(plain))
            held[-1].sendall(who_am_i(token))
        except OSError:  # there is no room for more
            plain.close()
    return held


def main():
    binary = sys.argv[1]
    idle = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    # Each connection is one descriptor here and two in the daemon, which needs
    # others too: 10000 of them take a limit of some 21000.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        with daemon(binary, pathlib.Path(name),
                    FEW_SESSIONS) as (process, address, port):
            measure(process, address, port, pathlib.Path(name), idle)


def measure(process, address, port, place, idle):
    here = grpc.insecure_channel(address)
    there = grpc.secure_channel(
        f"127.0.0.1:{port}",
        grpc.ssl_channel_credentials((place / "cert.pem").read_bytes()))
    identity = identity_service_pb2_grpc.IdentityServiceStub
    token = identity(here).CreateToken(identity_pb2.CreateTokenRequest())
    bearer = [("authorization", "Bearer " + token.value)]
    run = run_pb2.RunCodeRequest(language="python", code="print(1)")
    sandbox = sandbox_service_pb2_grpc.SandboxServiceStub
    one, other = sandbox(here), sandbox(there)

    unix, tls = in_turns(RUNS, [lambda: one.RunCode(run),
                                lambda: other.RunCode(run, metadata=bearer)])
    print(f"warm print(1), p50: unix {unix:.0f} us, TLS and a token {tls:.0f} "
          f"us: {tls / unix:.2f} x, {tls - unix:+.0f} us")
    who, asks = identity(here), identity_pb2.WhoAmIRequest()
    plain, checked = in_turns(
        CHECKS, [lambda: who.WhoAmI(asks),
                 lambda: who.WhoAmI(asks, metadata=bearer)])
    print(f"WhoAmI over the unix socket, p50: {plain:.0f} us; with a token "
          f"{checked:.0f} us: {checked - plain:+.0f} us")

    before = memory_kib(process.pid)
    held = connect_idle(port, idle, token.value)
    time.sleep(2)
    after = memory_kib(process.pid)
    alive = sum(1 for each in held if not closed(each))
    print(f"{alive} of {idle} idle connections with TLS: "
          f"{(after - before) / max(alive, 1):.1f} KiB each")
    with_idle = in_turns(RUNS, [lambda: other.RunCode(run, metadata=bearer)])[0]
    for each in held:
        each.close()
    print(f"warm print(1) over TLS beside them: p50 {with_idle:.0f} us: "
          f"{with_idle / tls:.2f} x")


def closed(connection):
    connection.setblocking(False)
    try:
        while True:
            if not connection.recv(4096):
                return True
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True


if __name__ == "__main__":
    main()
