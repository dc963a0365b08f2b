"""First calls with nothing but gRPC: a run whose output comes as it is written, and
a session, which keeps its state. (The package in client/python is shorter.)

    python3 -m venv venv
    venv/bin/pip install grpcio-tools==1.76.0 googleapis-common-protos==1.72.0
    venv/bin/python -m grpc_tools.protoc -I proto --python_out=stubs \
        --grpc_python_out=stubs proto/sandglass/v1/*.proto       # mkdir stubs first
    sudo PYTHONPATH=stubs venv/bin/python client/examples/python/first_call.py [ADDRESS]
"""

import os
import sys

import grpc
from google.rpc import error_details_pb2, status_pb2
from sandglass.v1 import (
    run_pb2,
    sandbox_service_pb2_grpc,
    session_pb2,
    session_service_pb2_grpc,
    verdict_pb2,
)

CODE = """
import time
for n in range(1, 4):
    print(n * n, flush=True)
    time.sleep(0.3)
"""


def stream(sandbox: sandbox_service_pb2_grpc.SandboxServiceStub) -> None:
    run = run_pb2.RunCodeRequest(language="python", code=CODE)
    run.limits.wall_time.seconds = 5
    request = run_pb2.StreamRunCodeRequest(run=run)
    for event in sandbox.StreamRunCode(request, timeout=30):
        if event.HasField("chunk"):
            # Bytes: a chunk may end within a character.
            sys.stdout.buffer.write(event.chunk.data)
            sys.stdout.buffer.flush()
        elif event.HasField("result"):
            # What becomes of a program is never a gRPC error.
            outcome = verdict_pb2.Outcome.Name(event.result.outcome)
            start = "warm" if event.result.timings.warm else "cold"
            explanation = event.result.evidence.explanation
            print(f"{outcome}, {start}: {explanation}", flush=True)


def in_steps(channel: grpc.Channel) -> None:
    sandbox = sandbox_service_pb2_grpc.SandboxServiceStub(channel)
    sessions = session_service_pb2_grpc.SessionServiceStub(channel)
    create = session_pb2.CreateSessionRequest(language="python")
    session_id = sessions.CreateSession(create, timeout=10).session.session_id
    try:
        for code in ("x = 20", "x + 1"):
            run = run_pb2.RunCodeRequest(session_id=session_id, code=code)
            answer = sandbox.RunCode(run, timeout=30)
            for result in answer.results:
                print(result.data[0].data.decode())
    finally:
        delete = session_pb2.DeleteSessionRequest(session_id=session_id)
        sessions.DeleteSession(delete, timeout=10)


def reason(error: grpc.RpcError) -> str:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    return info.reason
    return error.code().name


def connect(address: str, options: list[tuple[str, int]]) -> grpc.Channel:
    """Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the
    authority of the daemon's certificate; $SANDGLASS_TOKEN says who calls."""
    if not (ca := os.environ.get("SANDGLASS_CA")):
        return grpc.insecure_channel(address, options)
    with open(ca, "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    if token := os.environ.get("SANDGLASS_TOKEN"):
        calls = grpc.access_token_call_credentials(token)
        credentials = grpc.composite_channel_credentials(credentials, calls)
    return grpc.secure_channel(address, credentials, options)


def main() -> int:
    usual = "unix:/run/sandglass/sandglass.sock"
    address = os.environ.get("SANDGLASS_ADDRESS", usual)
    address = sys.argv[1] if len(sys.argv) > 1 else address
    # gRPC takes 4 MiB unless told otherwise; an answer may have 16.
    options = [("grpc.max_receive_message_length", 16 << 20)]
    with connect(address, options) as channel:
        try:
            stream(sandbox_service_pb2_grpc.SandboxServiceStub(channel))
            in_steps(channel)
        except grpc.RpcError as error:
            print(f"{reason(error)}: {error.details()}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
