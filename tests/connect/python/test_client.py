"""Connect's own client for Python against a gateway."""

import collections.abc
import os
import pathlib
import threading
import time

import pyqwest
import pytest
from connectrpc.code import Code
from connectrpc.codec import proto_json_codec
from connectrpc.errors import ConnectError
from connectrpc.protocol import ProtocolType
from google.rpc.error_details_pb import ErrorInfo
from protobuf import Oneof
from protobuf.wkt import Duration
from sandglass.v1.exec_pb import (
    ExecCloseStdin,
    ExecSpec,
    ExecuteRequest,
    ExecuteStart,
)
from sandglass.v1.exec_service_connect import ExecServiceClientSync
from sandglass.v1.file_service_connect import FileServiceClientSync
from sandglass.v1.files_pb import (
    FileWriteStart,
    ReadFileRequest,
    WatchFilesRequest,
    WriteFileRequest,
)
from sandglass.v1.run_pb import (
    ListRunsRequest,
    RunCodeRequest,
    RunState,
    StreamRunCodeRequest,
)
from sandglass.v1.sandbox_service_connect import SandboxServiceClientSync
from sandglass.v1.server_info_pb import GetServerInfoRequest
from sandglass.v1.session_pb import CreateSessionRequest, DeleteSessionRequest
from sandglass.v1.session_service_connect import SessionServiceClientSync
from sandglass.v1.verdict_pb import Outcome

GATEWAY = os.environ["SANDGLASS_TEST_GATEWAY"]
CA = pathlib.Path(os.environ["SANDGLASS_TEST_CA"]).read_bytes()
TOKEN = {"authorization": "Bearer " + os.environ["SANDGLASS_TEST_TOKEN"]}

# What prints, waits and prints.
TWICE = """import time
print("one", flush=True)
time.sleep(2)
print("two")"""
ENDLESS = """import time
print("one", flush=True)
time.sleep(120)"""

# The client compresses what it sends unless it is told not to, which the gateway
# takes by HTTP/1.1, and not by gRPC.
WAYS = {
    "connect": {},
    "connect-json": {"codec": proto_json_codec()},
    "grpc-web": {"protocol": ProtocolType.GRPC_WEB},
    "grpc": {"protocol": ProtocolType.GRPC, "send_compression": None},
}


class Clients:
    def __init__(self, http: pyqwest.SyncClient, **options: object) -> None:
        options = {"http_client": http, "timeout_ms": 60_000, **options}
        self.runs = SandboxServiceClientSync(GATEWAY, **options)
        self.sessions = SessionServiceClientSync(GATEWAY, **options)
        self.files = FileServiceClientSync(GATEWAY, **options)
        self.execs = ExecServiceClientSync(GATEWAY, **options)


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def clients(way: str) -> collections.abc.Iterator[Clients]:
    version = pyqwest.HTTPVersion.HTTP2 if way == "grpc" else None
    with pyqwest.SyncHTTPTransport(tls_ca_cert=CA, http_version=version) as transport:
        yield Clients(pyqwest.SyncClient(transport), **WAYS[way])


@pytest.fixture
def session(clients: Clients) -> collections.abc.Iterator[str]:
    answer = clients.sessions.create_session(
        CreateSessionRequest(language="python", idle_timeout=Duration(seconds=60)),
        headers=TOKEN,
    )
    name = answer.session.session_id
    yield name
    clients.sessions.delete_session(
        DeleteSessionRequest(session_id=name), headers=TOKEN
    )


def python(code: str, label: str = "none") -> RunCodeRequest:
    return RunCodeRequest(language="python", code=code, labels={"test": label})


def reason(error: ConnectError) -> str:
    infos = [detail.value(ErrorInfo) for detail in error.details]
    return next((info.reason for info in infos if info), "")


def assert_ends(clients: Clients, label: str, outcome: Outcome) -> None:
    """The run with that label is over soon."""
    runs = []
    for _ in range(200):
        request = ListRunsRequest(labels={"test": label})
        runs = clients.runs.list_runs(request, headers=TOKEN).runs
        if len(runs) == 1 and runs[0].state == RunState.FINISHED:
            assert runs[0].outcome == outcome
            return
        time.sleep(0.1)
    pytest.fail(f"it goes on: {runs}")


def test_a_program_runs(clients: Clients) -> None:
    answer = clients.runs.run_code(python("print(6*7)"), headers=TOKEN)
    assert answer.stdout.data == b"42\n"


def test_output_comes_as_it_is_written(clients: Clients) -> None:
    request = StreamRunCodeRequest(run=python(TWICE))
    first = None
    output = b""
    result = None
    for part in clients.runs.stream_run_code(request, headers=TOKEN):
        match part.event:
            case Oneof(field="chunk", value=chunk):
                first = first or time.monotonic()
                output += chunk.data
            case Oneof(field="result", value=value):
                result = value
    assert output == b"one\ntwo\n"
    assert result.outcome == Outcome.OK
    assert time.monotonic() - first > 1


@pytest.mark.parametrize(
    "request_, code, expected",
    [
        (
            RunCodeRequest(language="klingon", code="x"),
            Code.FAILED_PRECONDITION,
            "LANGUAGE_UNAVAILABLE",
        ),
        (python(""), Code.INVALID_ARGUMENT, "INVALID_REQUEST"),
    ],
)
def test_an_error_has_its_details(
    clients: Clients, request_: RunCodeRequest, code: Code, expected: str
) -> None:
    with pytest.raises(ConnectError) as failed:
        clients.runs.run_code(request_, headers=TOKEN)
    assert (failed.value.code, reason(failed.value)) == (code, expected)
    with pytest.raises(ConnectError) as failed:
        list(
            clients.runs.stream_run_code(
                StreamRunCodeRequest(run=request_), headers=TOKEN
            )
        )
    assert (failed.value.code, reason(failed.value)) == (code, expected)


def test_a_stranger_is_refused(clients: Clients) -> None:
    with pytest.raises(ConnectError) as failed:
        clients.runs.run_code(
            python("print(6*7)"), headers={"authorization": "Bearer sgt_nobody"}
        )
    assert failed.value.code == Code.UNAUTHENTICATED
    assert reason(failed.value) == "BAD_CREDENTIALS"


def test_a_calls_deadline_is_its_programs(clients: Clients, way: str) -> None:
    """It leaves time for the answer."""
    label = f"python-timeout-{way}"
    answer = clients.runs.run_code(
        python(ENDLESS, label), headers=TOKEN, timeout_ms=3000
    )
    assert answer.outcome == Outcome.TIMEOUT
    assert_ends(clients, label, Outcome.TIMEOUT)


def test_a_stream_ends_at_its_deadline(clients: Clients, session: str) -> None:
    began = time.monotonic()
    request = WatchFilesRequest(session_id=session)
    with pytest.raises(ConnectError) as failed:
        list(clients.files.watch_files(request, headers=TOKEN, timeout_ms=2000))
    assert failed.value.code == Code.DEADLINE_EXCEEDED
    assert 1 < time.monotonic() - began < 10


def test_a_stream_that_is_closed_ends_its_run(clients: Clients, way: str) -> None:
    label = f"python-cancel-{way}"
    request = StreamRunCodeRequest(run=python(ENDLESS, label))
    stream = clients.runs.stream_run_code(request, headers=TOKEN)
    for part in stream:
        if part.event.field == "chunk":
            break
    stream.close()
    assert_ends(clients, label, Outcome.CANCELLED)


def test_a_file_is_written_and_read(clients: Clients, session: str) -> None:
    parts = [f"{i:07}\n".encode() * 8192 for i in range(40)]

    def requests() -> collections.abc.Iterator[WriteFileRequest]:
        start = FileWriteStart(session_id=session, path="big")
        yield WriteFileRequest(part=Oneof("start", start))
        for part in parts[:-1]:
            yield WriteFileRequest(part=Oneof("data", part))
        yield WriteFileRequest(part=Oneof("data", parts[-1]), finish=True)

    written = clients.files.write_file(requests(), headers=TOKEN)
    assert written.info.size == 40 * 65536
    request = ReadFileRequest(session_id=session, path="big")
    read = clients.files.read_file(request, headers=TOKEN)
    got = [answer.part.value for answer in read if answer.part.field == "data"]
    assert b"".join(got) == b"".join(parts)


def test_a_command_is_talked_with(clients: Clients, way: str, session: str) -> None:
    """In turns by HTTP/2 alone; by HTTP/1.1 the answer comes when the request is
    over."""
    answered = threading.Semaphore(0)

    def requests() -> collections.abc.Iterator[ExecuteRequest]:
        spec = ExecSpec(session_id=session, command="cat", open_stdin=True)
        yield ExecuteRequest(message=Oneof("start", ExecuteStart(spec=spec)))
        for words in (b"one\n", b"two\n"):
            yield ExecuteRequest(message=Oneof("stdin", words))
            if way == "grpc":
                answered.acquire(timeout=20)
        yield ExecuteRequest(message=Oneof("close_stdin", ExecCloseStdin()))

    heard = b""
    for answer in clients.execs.execute(requests(), headers=TOKEN):
        if answer.event.field == "output":
            heard += answer.event.value.data
            answered.release()
    assert heard == b"one\ntwo\n"


@pytest.mark.parametrize("way", ["connect", "connect-json"], indirect=True)
def test_a_get_is_answered(clients: Clients) -> None:
    answer = clients.runs.get_server_info(
        GetServerInfoRequest(), headers=TOKEN, use_get=True
    )
    assert answer.languages
