#!/usr/bin/python3
"""What a gateway adds to a call, beside the same call straight to the node.

usage: PYTHON bench/gateway.py SANDGLASSD SANDGLASS_GATEWAY      (root)

PYTHON has the package `sandglass` with its stubs, for example
build/python-client/bin/python. Starts a node and a gateway of its own, with
certificates that openssl makes. Both ways are over TLS on loopback with a
token, in turns, so that what else the machine does hits both: one warm
`print(1)` at a time, by gRPC and by HTTP with JSON, as many as eight callers can
make, and a gibibyte that a program sends.
"""

import concurrent.futures
import http.client
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time

import grpc
from remote import in_turns, make_certificate
from sandglass.v1 import exec_pb2, exec_service_pb2_grpc, port_pb2
from sandglass.v1 import identity_pb2, identity_service_pb2_grpc, run_pb2
from sandglass.v1 import port_service_pb2_grpc, sandbox_service_pb2_grpc
from sandglass.v1 import session_pb2, session_service_pb2_grpc

RUNS = 1000
CALLERS = 8
ROUNDS = 6
SECONDS = 3
STREAM_BYTES = 1 << 30
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
    channel = new_channel(place, port)
    return (sandbox_service_pb2_grpc.SandboxServiceStub(channel),
            [("authorization", "Bearer " + token.value)], channel)


def new_channel(place, port):
    return grpc.secure_channel(
        f"127.0.0.1:{port}",
        grpc.ssl_channel_credentials((place / "cert.pem").read_bytes()),
        options=[("grpc.use_local_subchannel_pool", 1)])


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
            straight = caller(place, place / "state" / "sandglass.sock", NODE)
            through = caller(place, place / "gateway.sock", GATEWAY)
            measure(straight, through)
            by_http(place, through)
            stream(straight, through)
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
        for way, (stub, metadata, _) in enumerate((straight, through)):
            done[way] += as_many_as_can_be(stub, metadata, run)
    rates = [count / (ROUNDS * SECONDS) for count in done]
    print(f"{CALLERS} callers: straight {rates[0]:.0f}, by the gateway "
          f"{rates[1]:.0f} runs a second: {rates[1] / rates[0]:.2f} x")


def by_http(place, through):
    """The same run by HTTP/1.1 with JSON, on one connection."""
    tls = ssl.create_default_context(cafile=str(place / "cert.pem"))
    client = http.client.HTTPSConnection("127.0.0.1", GATEWAY, context=tls)
    body = json.dumps({"language": "python", "code": "print(1)"})
    headers = {"content-type": "application/json", through[1][0][0]: through[1][0][1]}

    def post():
        client.request("POST", "/sandglass.v1.SandboxService/RunCode", body,
                       headers)
        reply = client.getresponse()
        assert reply.status == 200, reply.read()
        reply.read()

    run = run_pb2.RunCodeRequest(language="python", code="print(1)")
    one, other = in_turns(
        RUNS, [lambda: through[0].RunCode(run, metadata=through[1]), post])
    print(f"by the gateway, p50: gRPC {one:.0f} us, HTTP with JSON "
          f"{other:.0f} us: {other - one:+.0f} us")


def new_session(channel, metadata):
    return session_service_pb2_grpc.SessionServiceStub(channel).CreateSession(
        session_pb2.CreateSessionRequest(),
        metadata=metadata).session.session_id


PROGRAM = """import socket, sys, threading
size = int(sys.argv[1])
server = socket.create_server(("", 8000), backlog=128)
print("ready", flush=True)
def write(connection):
    left = size
    while left:
        left -= min(65536, left)
        connection.sendall(b"x" * 65536)
    connection.close()
while True: threading.Thread(target=write, args=(server.accept()[0],)).start()
"""


def start_program(channel, metadata, size):
    """Each connection to it gets so many bytes. Returns its session."""
    session = new_session(channel, metadata)
    start = exec_pb2.StartExecRequest()
    start.spec.session_id = session
    start.spec.argv[:] = ["python3", "-c", PROGRAM, str(size)]
    start.wait.seconds = 1
    exec_service_pb2_grpc.ExecServiceStub(channel).StartExec(
        start, metadata=metadata)
    return session


def connect(channel, metadata, session):
    request = port_pb2.ForwardRequest()
    request.start.session_id = session
    request.start.port = 8000
    return port_service_pb2_grpc.PortServiceStub(channel).Forward(
        iter([request]), metadata=metadata)


def stream(straight, through):
    """What a program sends on a connection, as fast as this client reads it."""
    rates = []
    for _, metadata, channel in (straight, through):
        session = start_program(channel, metadata, STREAM_BYTES)
        began = time.monotonic()
        size = sum(len(each.data)
                   for each in connect(channel, metadata, session))
        assert size == STREAM_BYTES, size
        rates.append(size / (time.monotonic() - began) / (1 << 20))
    print(f"1 GiB of a program's: straight {rates[0]:.0f}, by the gateway "
          f"{rates[1]:.0f} MiB/s: {rates[1] / rates[0]:.2f} x")


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
