"""Runs one program and prints its output as it comes.

usage: first_call.py [ADDRESS]      (default: unix:/run/sandglass/sandglass.sock)

Needs grpcio and the stubs that protoc makes of proto/sandglass/v1/*.proto.
"""

import sys

import grpc
from sandglass.v1 import run_pb2, sandbox_service_pb2_grpc, verdict_pb2

address = sys.argv[1] if len(sys.argv) > 1 else "unix:/run/sandglass/sandglass.sock"
# gRPC takes 4 MiB unless told otherwise; an answer may have 16.
options = [("grpc.max_receive_message_length", 16 << 20)]

with grpc.insecure_channel(address, options) as channel:
    stub = sandbox_service_pb2_grpc.SandboxServiceStub(channel)
    request = run_pb2.RunCodeRequest(language="bash", code="seq 3; exit 7")
    request.limits.wall_time.seconds = 5
    call = stub.StreamRunCode(run_pb2.StreamRunCodeRequest(run=request), timeout=30)
    for event in call:
        if event.HasField("chunk"):
            sys.stdout.buffer.write(event.chunk.data)
        elif event.HasField("result"):
            result = event.result
            sys.stdout.flush()
            print(verdict_pb2.Outcome.Name(result.outcome), result.exit_code)
            print(result.evidence.explanation)
