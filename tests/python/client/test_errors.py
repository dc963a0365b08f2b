"""Errors, daemons that go away, wrong values."""

import io
import os
import pathlib
import pickle
import shutil
import socket
import tempfile
import threading
import time

import grpc
import pytest
import sandglass
from sandglass import Client, SandglassError, _address, _errors, _files, _op, _sync
from sandglass._op import Retries


def test_the_tree():
    for kind, base in [
        (sandglass.DaemonUnavailable, ConnectionError),
        (sandglass.InvalidRequest, ValueError),
        (sandglass.NotFound, LookupError),
        (sandglass.SessionGone, sandglass.NotFound),
        (sandglass.PermissionDenied, PermissionError),
        (sandglass.DeadlineExceeded, TimeoutError),
        (sandglass.FileError, SandglassError),
        (sandglass.Busy, SandglassError),
        (sandglass.MessageTooLarge, sandglass.InvalidRequest),
        (sandglass.Conflict, SandglassError),
        (sandglass.RunFailed, SandglassError),
    ]:
        assert issubclass(kind, base) and issubclass(kind, SandglassError)
        assert str(kind("words")) == "words"


def test_details_of_an_error(client):
    with pytest.raises(sandglass.InvalidRequest) as wrong:
        client.run_code("", "cobol", args=["a\0b"], limits={"memory_bytes": 1 << 50})
    error = wrong.value
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
    fields = [field for field, _ in error.violations]
    assert {"language", "args[0]"} <= set(fields), fields
    for field, why in error.violations:
        assert f"{field}: {why}" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)
    assert copy.violations == error.violations


@pytest.mark.parametrize("mib", [16, 18])
def test_what_no_message_can_carry_is_not_busy(client, mib):
    # The daemon refuses the one, gRPC on this side the other.
    with pytest.raises(sandglass.MessageTooLarge) as large:
        client.run_code("1", stdin=bytes(mib << 20))
    assert large.value.reason == "MESSAGE_TOO_LARGE"
    assert not isinstance(large.value, sandglass.Busy)


def test_where_a_unit_is_installed_it_is_to_be_started(tmp_path):
    def words(address=_address.DEFAULT_ADDRESS):
        return _address._how_to_start(address, str(tmp_path))

    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert words().startswith("start one with: sandglass up")
    unit = tmp_path / "usr/lib/systemd/system/sandglassd.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    assert words() == "start the service with: sudo systemctl start sandglassd"
    assert words("unix:/x") == "start one with: sudo sandglassd --listen unix:/x"


def test_a_users_own_daemon_comes_first(monkeypatch, tmp_path):
    monkeypatch.delenv("SANDGLASS_ADDRESS", raising=False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert _address.resolve(None) == _address.DEFAULT_ADDRESS
    own = tmp_path / "sandglass/sandglass.sock"
    own.parent.mkdir()
    own.touch()
    assert _address.resolve(None) == f"unix:{own}"
    # Root's is the machine's.
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert _address.resolve(None) == _address.DEFAULT_ADDRESS
    monkeypatch.setenv("SANDGLASS_ADDRESS", "unix:/x")
    assert _address.resolve(None) == "unix:/x"


def test_a_language_that_is_prepared_is_waited_for(caplog):
    error = sandglass.DaemonUnavailable(
        "Java is being prepared for its first use; try again in a few seconds",
        code="UNAVAILABLE",
        reason="LANGUAGE_PREPARING",
        retry_after=2.0,
    )
    retries = Retries(0.1, 0, None)
    pauses = [retries.pause(error, False) for _ in range(5)]
    assert all(pause is not None and pause < 2 for pause in pauses)
    assert caplog.messages == [
        "Java is being prepared for its first use; waiting for it, 300 s at most"
    ]
    # A call's own deadline holds, and who wants no second try gets none.
    assert Retries(5, 0, 0.01).pause(error, False) is None
    assert Retries(0, 0, None).pause(error, False) is None


def test_each_kind_of_wait_has_its_own_time(monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    kinds = {"code": "UNAVAILABLE", "retry_after": 1.0}
    starts = sandglass.DaemonUnavailable("it starts", reason="STARTING", **kinds)
    prepares = sandglass.DaemonUnavailable(
        "Java is being prepared", reason="LANGUAGE_PREPARING", **kinds
    )
    full = sandglass.Busy("full", code="RESOURCE_EXHAUSTED", retry_after=1.0)
    retries = Retries(10, 5, None)
    for error, seconds in ((starts, 10), (prepares, 300), (full, 5)):
        assert retries.pause(error, True) is not None
        now += seconds - 2
        assert retries.pause(error, True) is not None, error
        now += 2
        assert retries.pause(error, True) is None, error


def test_errors_with_results_are_pickled(client):
    with pytest.raises(sandglass.RunFailed) as failed:
        client.run_code("1/0").check()
    assert "ZeroDivisionError" in str(pickle.loads(pickle.dumps(failed.value)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"code": 1}, "code must be a str, not int"),
        ({"code": None}, "code must be a str"),
        ({"code": b"print(1)"}, "code must be a str, not bytes"),
        ({"language": 1}, "language must be a str"),
        ({"timeout": "5"}, "timeout must be seconds or a timedelta, not str"),
        ({"timeout": True}, "timeout must be seconds"),
        ({"args": "abc"}, "args must be a list of str, not str"),
        ({"args": [1]}, r"args\[0\] must be a str, not int"),
        ({"env": [("A", "b")]}, "env must be a dict of str to str"),
        ({"env": {"A": 1}}, r"env\['A'\] must be a str"),
        ({"labels": {1: "a"}}, "labels's key must be a str"),
        ({"files": ["a"]}, "an item of files must be a pair"),
        ({"files": {"a": None}}, "bytes or a str, not NoneType"),
        ({"stdin": 5}, "stdin must be bytes or a str"),
        ({"limits": {"memory": 1}}, "did you mean 'memory_bytes'"),
        ({"limits": {"memory_bytes": "1"}}, "limits.memory_bytes must be an int"),
        ({"limits": 5}, "limits must be a dict"),
        ({"libraries": "six"}, "libraries must be a list of str"),
        ({"timout": 5}, "did you mean 'timeout'"),
        ({"profile": 1}, "profile must be a str"),
    ],
)
def test_wrong_types_are_said_before_anything_is_sent(options, words):
    nobody = Client("unix:/nonexistent/sock", retry_for=0)
    with pytest.raises(TypeError, match=words):
        nobody.run_code(**{"code": "pass", **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"code": "\ud800"}, "lone surrogate"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": -1}, "timeout must be above 0"),
        ({"timeout": float("nan")}, "timeout must be above 0"),
        ({"timeout": float("inf")}, "timeout must be above 0"),
        ({"limits": {"max_processes": -1}}, "limits.max_processes is out of range"),
        ({"limits": {"max_processes": 1 << 40}}, "is out of range"),
    ],
)
def test_wrong_values_are_said_before_anything_is_sent(options, words):
    nobody = Client("unix:/nonexistent/sock", retry_for=0)
    with pytest.raises(ValueError, match=words):
        nobody.run_code(**{"code": "pass", **options})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "unix:",
        "here",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:70000",
        ":1",
        "a b:1",
        "::1:1",
        "https://h",
        "unix:/" + "x" * 200,
        "unix:/a\0b",
    ],
)
def test_addresses_that_are_none(address, monkeypatch):
    monkeypatch.delenv("SANDGLASS_ADDRESS", raising=False)
    if address == "":
        assert Client(address or None).address.endswith("/sandglass.sock")
        return
    with pytest.raises(ValueError, match="is no address"):
        Client(address)
    with pytest.raises(TypeError, match="address must be a str"):
        Client(5)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("example.org:1", "dns:///example.org:1"),
        ("10.0.0.1:1", "dns:///10.0.0.1:1"),
        ("https://[::1]:1/", "dns:///[::1]:1"),
        ("dns:///localhost:1", "dns:///localhost:1"),
        ("[::1]:1", "[::1]:1"),
    ],
)
def test_addresses_beyond_this_machine_mean_tls(address, place):
    assert _address.resolve(address) == place


def test_no_daemon_is_said_with_what_to_do(tmp_path):
    with pytest.raises(sandglass.DaemonUnavailable) as none:
        Client(f"unix:{tmp_path}/none", retry_for=0).run_code("1")
    assert f"no daemon at unix:{tmp_path}/none (no such socket)" in str(none.value)
    assert "sudo sandglassd" in str(none.value)
    (tmp_path / "file").touch()
    with pytest.raises(sandglass.DaemonUnavailable, match="that is not a socket"):
        Client(f"unix:{tmp_path}/file", retry_for=0).run_code("1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "dead"))
    with pytest.raises(sandglass.DaemonUnavailable, match="nobody listens"):
        Client(f"unix:{tmp_path}/dead", retry_for=0).run_code("1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(sandglass.DaemonUnavailable, match="no daemon at 127.0.0.1"):
        Client(f"localhost:{port}", retry_for=0).run_code("1")


def test_what_listens_but_is_no_daemon(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "sock"))
        listener.listen()

        def answer():
            peer, _ = listener.accept()
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            peer.close()

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(SandglassError):
            Client(f"unix:{tmp_path}/sock", retry_for=0).run_code("1", deadline=5)
        thread.join()


def test_a_socket_that_one_may_not_use(daemon):
    # As nobody, in a process of its own.
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                Client(daemon.address, retry_for=0).run_code("1")
            except sandglass.DaemonUnavailable as error:
                code = 0 if "permission denied" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_deadline_shorter_than_the_program(client):
    begin = time.monotonic()
    with pytest.raises(sandglass.DeadlineExceeded):
        client.run_code("import time; time.sleep(20)", deadline=0.0001)
    result_or_error = None
    try:
        result_or_error = client.run_code("import time; time.sleep(20)", deadline=1)
    except sandglass.DeadlineExceeded as error:
        result_or_error = error
    # The daemon ends a program in time to tell of it.
    assert isinstance(result_or_error, sandglass.RunResult), result_or_error
    assert result_or_error.outcome is sandglass.Outcome.TIMEOUT
    assert time.monotonic() - begin < 10


def test_a_daemon_that_is_started_again_is_found(make_daemon):
    own = make_daemon()
    client = Client(own.address, retry_for=30)
    box = client.sandbox()
    assert client.run_code("print(1)").ok
    own.stop()
    starter = threading.Timer(0.5, own.start)
    starter.start()
    # Asked while there is none.
    assert client.run_code("print(2)").stdout == "2\n"
    starter.join()
    with pytest.raises(sandglass.SessionGone):
        box.run_code("1")


def test_a_daemon_that_is_killed_under_a_run(make_daemon):
    own = make_daemon()
    hasty = Client(own.address, retry_for=0)
    patient = Client(own.address, retry_for=60)
    mark = pathlib.Path("/workspace/mark")
    code = f"import time; open('{mark}', 'w'); time.sleep(1.5); print('done')"
    seen = {}

    def run(name, client):
        try:
            seen[name] = client.run_code(code)
        except SandglassError as error:
            seen[name] = error

    threads = [
        threading.Thread(target=run, args=pair)
        for pair in (("hasty", hasty), ("patient", patient))
    ]
    for thread in threads:
        thread.start()
    while len(hasty.runs()) < 2:
        time.sleep(0.02)
    own.kill()
    own.start()
    for thread in threads:
        thread.join()
    assert isinstance(seen["hasty"], sandglass.DaemonUnavailable), seen
    assert seen["patient"].stdout == "done\n"


def test_what_can_not_be_repeated_is_not(make_daemon):
    own = make_daemon()
    client = Client(own.address, retry_for=60)
    box = client.sandbox("bash")
    box.files.write("a", "1")
    started = threading.Event()
    killed = threading.Event()

    def pieces():
        yield b"2"
        started.set()
        killed.wait(60)
        yield b"3"

    errors = []

    def append():
        try:
            box.files.write("a", pieces(), how="append")
        except SandglassError as error:
            errors.append(error)

    thread = threading.Thread(target=append)
    thread.start()
    started.wait()
    own.kill()
    killed.set()
    begin = time.monotonic()
    thread.join()
    assert time.monotonic() - begin < 30
    assert isinstance(errors[0], sandglass.DaemonUnavailable)


def test_a_closed_client_says_so(daemon):
    client = Client(daemon.address)
    client.run_code("1")
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.run_code("1")


def test_no_room_is_said_with_when_to_ask_again(make_daemon):
    own = make_daemon(
        config={
            "admission": {"max_running": 1, "max_queued": 1, "max_queued_per_caller": 1}
        }
    )
    with Client(own.address) as client:
        sleep = "import time; time.sleep(3)"
        with client.stream_code(sleep) as first, client.stream_code(sleep) as second:
            next(first)
            waiter = threading.Thread(target=lambda: next(second))
            waiter.start()
            while len(client.runs()) < 2:
                time.sleep(0.02)
            with pytest.raises(sandglass.Busy) as busy:
                client.run_code("1")
            assert busy.value.reason.startswith("QUEUE")
            assert busy.value.retry_after > 0
            with Client(own.address, retry_busy_for=60) as patient:
                assert patient.run_code("print(1)").stdout == "1\n"
            waiter.join()


def test_reading_goes_on_when_the_code_killed_what_reads(client):
    # The file agent is a process of the sandbox, which its code may kill.
    with client.sandbox() as box:
        box.files.write("a", "1")
        box.run_code(
            "import os, signal\n"
            "for pid in range(2, 300):\n"
            "  if pid == os.getpid(): continue\n"
            "  try: os.kill(pid, signal.SIGKILL)\n"
            "  except OSError: pass\n",
            context="other",
        )
        assert box.files.read("a") == b"1"


def test_a_durable_sandbox_outlives_its_daemon(make_daemon):
    place = tempfile.mkdtemp(prefix="sandglass-test-")
    own = make_daemon(
        config={"sessions": {"durable_dir": f"{place}/durable"}},
        profiles={"keeps": {"description": "d", "session_files": "durable"}},
    )
    client = Client(own.address, retry_for=60)
    box = client.sandbox(profile="keeps")
    assert box.info().durable
    box.files.write("a", "1")
    errors = []

    def count():
        try:
            box.run_code("open('a', 'a').write('2'); import time; time.sleep(20)")
        except SandglassError as error:
            errors.append(error)

    thread = threading.Thread(target=count)
    thread.start()
    while not any(run.state == 2 for run in client.runs()):
        time.sleep(0.02)
    own.kill()
    thread.join(10)
    # Its files would show a second run, so there is none.
    assert isinstance(errors[0], sandglass.DaemonUnavailable)
    own.start()
    assert box.info().state == "dormant"
    assert box.files.read("a") in (b"1", b"12")
    shutil.rmtree(place)


@pytest.mark.parametrize("content", [b"all of it", io.BytesIO(b"all of it")])
def test_content_that_was_read_from_is_not_sent_in_part(monkeypatch, content):
    sent = []

    def refuse(self, stubs, timeout):
        sent.append(b"".join(message.data for message in self.request()))
        raise grpc.RpcError

    busy = sandglass.Busy("no room", code="RESOURCE_EXHAUSTED", retry_after=0.01)
    monkeypatch.setattr(_op.Op, "begin", refuse)
    monkeypatch.setattr(_errors, "from_rpc", lambda broken, address: busy)
    connection = _sync.Connection("unix:/nowhere", 1.0, 0.1)
    with pytest.raises(sandglass.Busy):
        connection.call(_files.write("ses-1", "/f", content, "replace", None, False))
    assert set(sent) == {b"all of it"}
    assert (len(sent) > 1) == isinstance(content, bytes)
