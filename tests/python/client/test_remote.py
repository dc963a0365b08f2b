"""Daemons that are reached by TLS, and how the package proves who calls."""

import asyncio
import json
import os
import subprocess
from concurrent import futures

import grpc
import pytest
import sandglass
from conftest import BUILD
from sandglass import Client, Sandbox, _endpoint
from sandglass.aio import AsyncClient
from sandglass.v1 import (
    sandbox_service_pb2_grpc,
    server_info_pb2,
    session_pb2,
    session_service_pb2_grpc,
)

SECRET = "sg_id_verysecret"


class Remote(
    sandbox_service_pb2_grpc.SandboxServiceServicer,
    session_service_pb2_grpc.SessionServiceServicer,
):
    """A server that notes what callers prove themselves by."""

    def __init__(self, certs, *, asks_clients=False):
        self.certs = certs
        self.proofs = []
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        sandbox_service_pb2_grpc.add_SandboxServiceServicer_to_server(self, self.server)
        session_service_pb2_grpc.add_SessionServiceServicer_to_server(self, self.server)
        pair = [(certs / f"server.{end}").read_bytes() for end in ("key", "pem")]
        ca = (certs / "ca.pem").read_bytes()
        tls = grpc.ssl_server_credentials(
            [tuple(pair)], ca if asks_clients else None, asks_clients
        )
        port = self.server.add_secure_port("127.0.0.1:0", tls)
        self.server.add_insecure_port(f"unix:{certs}/sock")
        self.address = f"localhost:{port}"
        self.server.start()

    def _note(self, context):
        sent = dict(context.invocation_metadata())
        self.proofs.append(sent.get("authorization", ""))

    def GetServerInfo(self, request, context):  # noqa: N802
        self._note(context)
        return server_info_pb2.GetServerInfoResponse(version="7")

    def GetSession(self, request, context):  # noqa: N802
        self._note(context)
        session = session_pb2.Session(session_id=request.session_id)
        return session_pb2.GetSessionResponse(session=session)


@pytest.fixture(scope="module")
def certs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("certs") / "of"
    binary = str(BUILD / "bin" / "sandglass")
    subprocess.run([binary, "cert", "init", "--dir", directory], check=True)
    subprocess.run([binary, "cert", "client", "ci", "--dir", directory], check=True)
    return directory


@pytest.fixture
def remote(certs):
    remote = Remote(certs)
    yield remote
    remote.server.stop(None)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("SANDGLASS_") and name != "SANDGLASS_TEST_BUILD":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def test_a_token_is_sent_by_both_clients(remote, certs, token_file):
    proof = {"ca": str(certs / "ca.pem"), "token_file": str(token_file)}
    with Client(remote.address, **proof) as client:
        assert client.info().version == "7"
        # It may turn over.
        token_file.write_text("sg_another")
        client.info()

    async def ask():
        async with AsyncClient(remote.address, **proof) as client:
            return (await client.info()).version

    assert asyncio.run(ask()) == "7"
    assert remote.proofs == [f"Bearer {SECRET}", "Bearer sg_another", "Bearer sg_another"]
    # A sandbox's own client, over a unix socket, by the token itself.
    Sandbox.connect("s-1", address=f"unix:{certs}/sock", token=SECRET).close()
    assert remote.proofs[-1] == f"Bearer {SECRET}"


def test_the_variables_and_the_contexts_are_those_of_the_command(
    remote, certs, token_file, monkeypatch, tmp_path
):
    monkeypatch.setenv("SANDGLASS_CA", str(certs / "ca.pem"))
    monkeypatch.setenv("SANDGLASS_TOKEN", SECRET)
    assert Client(f"https://{remote.address}").info().version == "7"
    monkeypatch.delenv("SANDGLASS_CA")
    monkeypatch.delenv("SANDGLASS_TOKEN")
    binary = str(BUILD / "bin" / "sandglass")
    add = ["context", "add", "team", "--address", remote.address]
    add += ["--ca", certs / "ca.pem", "--token-file", token_file]
    subprocess.run([binary, *add], check=True)
    Client(context="team").info()
    subprocess.run([binary, "context", "use", "team"], check=True)
    Client().info()
    assert remote.proofs == [f"Bearer {SECRET}"] * 3
    # The token of the context in use goes to no other daemon.
    assert _endpoint.resolve("other:1").token_file == ""
    with pytest.raises(ValueError, match="'none': there is no such context"):
        Client(context="none")
    config = tmp_path / "sandglass" / "config"
    # Comments are left out, and what looks like one in a text is none.
    written = json.loads(config.read_text())
    written["contexts"]["team"]["address"] = f"https://{remote.address}"
    config.write_text(f"// Ours.\n{json.dumps(written)} /* and\nno more */\n")
    Client().info()
    config.write_text("{\n")
    with pytest.raises(ValueError, match=f"{config}.*move it away"):
        Client()


def test_a_certificate_is_asked_for_and_given(certs):
    remote = Remote(certs, asks_clients=True)
    ca = str(certs / "ca.pem")
    mine = {"cert": str(certs / "ci.pem"), "key": str(certs / "ci.key")}
    assert Client(remote.address, ca=ca, **mine).info().version == "7"
    with pytest.raises(sandglass.DaemonUnavailable, match="certificate"):
        Client(remote.address, ca=ca, retry_for=0).info()
    remote.server.stop(None)


def test_what_is_wrong_with_the_server_is_said(remote, certs, tmp_path):
    ca = str(certs / "ca.pem")

    def ask(address, ca):
        with pytest.raises(sandglass.DaemonUnavailable) as raised:
            Client(address, ca=ca, token=SECRET, retry_for=0).info()
        assert SECRET not in str(raised.value)
        return str(raised.value)

    other = tmp_path / "other"
    binary = str(BUILD / "bin" / "sandglass")
    subprocess.run([binary, "cert", "init", "--dir", other], check=True)
    assert "its certificate is not good" in ask(remote.address, str(other / "ca.pem"))
    assert "nobody listens" in ask("localhost:1", ca)
    assert "'nowhere.invalid' is not found" in ask("nowhere.invalid:1", ca)
    assert remote.proofs == []


def test_a_token_is_in_no_text_and_on_no_wire(remote, certs, token_file):
    endpoint = _endpoint.resolve("h:1", token=SECRET)
    assert SECRET not in repr(endpoint)
    assert SECRET not in repr(Client("h:1", token=SECRET))
    with pytest.raises(ValueError, match="never sent without TLS") as plain:
        Client("127.0.0.1:1", token=SECRET)
    assert SECRET not in str(plain.value)
    for wrong in (f"{SECRET} x", f"{SECRET}\nx", f"{SECRET}\0", "x" * 9000):
        with pytest.raises(ValueError, match="a token (is of|has at most)") as raised:
            Client(remote.address, ca=str(certs / "ca.pem"), token=wrong).info()
        assert SECRET not in str(raised.value)
    token_file.chmod(0o644)
    with pytest.raises(PermissionError, match="others may read it"):
        Client(remote.address, ca=str(certs / "ca.pem"), token_file=token_file).info()
    assert remote.proofs == []


def test_what_contradicts_itself_is_refused(monkeypatch, tmp_path):
    for proof in ({"cert": "c"}, {"key": "k"}, {"token": "a", "token_file": "b"}):
        with pytest.raises(ValueError, match="both"):
            Client("h:1", **proof)
    # What was meant as the token is not shown.
    with (
        pytest.raises(ValueError, match="that is a token itself") as meant,
        Client("h:1", token_file="sg_2718281828459045") as broken,
    ):
        broken.info()
    assert "2718281828459045" not in str(meant.value)
    with pytest.raises(ValueError, match="ca: the client has these already"):
        Sandbox(client=Client("unix:/x"), ca="y")
    monkeypatch.setenv("SANDGLASS_TOKEN", "a")
    monkeypatch.setenv("SANDGLASS_TOKEN_FILE", "b")
    with pytest.raises(ValueError, match="are both set"):
        Client("h:1")
    monkeypatch.undo()
    config = tmp_path / "sandglass" / "config"
    config.parent.mkdir()
    config.write_text(json.dumps({"contexts": {"a": {"addres": "h:1"}}}))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(ValueError, match="/contexts/a: expected address"):
        Client(context="a")
