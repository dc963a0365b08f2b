"""Connections that break while the daemon lives: nothing runs twice, and nothing
of its output is lost or comes twice."""

import asyncio
import socket
import threading
import time

import pytest
import sandglass
from sandglass import AsyncClient, Client


class Relay:
    """Stands between client and daemon, and can cut all that goes through it."""

    def __init__(self, daemon, path):
        self.address = f"unix:{path}"
        self._target = daemon.address.removeprefix("unix:")
        self._pairs = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(
                    target=self._pass_on, args=(source, sink), daemon=True
                ).start()

    @staticmethod
    def _pass_on(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass

    def cut(self):
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                end.shutdown(socket.SHUT_RDWR)
                end.close()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


@pytest.fixture
def relay(daemon, tmp_path):
    between = Relay(daemon, tmp_path / "sock")
    yield between
    between.close()


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def cut_later(relay, condition):
    def later():
        wait_for(condition)
        relay.cut()

    thread = threading.Thread(target=later)
    thread.start()
    return thread


def test_a_commands_output_goes_on_where_it_was(relay, client):
    # What is lost on the way is asked for again, by its number.
    with client.sandbox() as box:
        with Client(relay.address, retry_for=10) as broken:
            same = sandglass.Sandbox.connect(box.id, client=broken)
            text, cuts = "", 0
            command = "for i in $(seq 1 60); do echo $i; sleep 0.02; done"
            with same.stream_command(command) as stream:
                for event in stream:
                    text += event.text
                    if cuts < 3 and text.count("\n") > 15 * (cuts + 1):
                        relay.cut()
                        cuts += 1
            assert cuts == 3
            assert text == "".join(f"{i}\n" for i in range(1, 61))
            assert stream.end.ok
        assert box.execute("pgrep -c seq").output == "0\n"


def test_the_same_for_asyncio(relay, client):
    async def main(sandbox_id):
        async with AsyncClient(relay.address, retry_for=10) as broken:
            same = await sandglass.AsyncSandbox.connect(sandbox_id, client=broken)
            text, cut = "", False
            async with same.stream_command(
                "for i in $(seq 1 40); do echo $i; sleep 0.02; done"
            ) as stream:
                async for event in stream:
                    text += event.text
                    if not cut and text.count("\n") > 15:
                        relay.cut()
                        cut = True
            return text

    with client.sandbox() as box:
        text = asyncio.run(main(box.id))
    assert text == "".join(f"{i}\n" for i in range(1, 41))


def test_what_goes_on_for_longer_than_it_is_tried_again(relay, client):
    # The time counts from the failure, not from the beginning.
    with client.sandbox() as box, Client(relay.address, retry_for=1) as broken:
        same = sandglass.Sandbox.connect(box.id, client=broken)
        cuts, text = 0, ""
        command = "for i in 1 2 3 4; do echo $i; sleep 1.2; done"
        with same.stream_command(command) as stream:
            for event in stream:
                text += event.text
                if event.text in ("2\n", "3\n"):
                    relay.cut()
                    cuts += 1
        assert (text, cuts) == ("1\n2\n3\n4\n", 2)
        labels = {"test": "long"}
        cut = threading.Timer(2, relay.cut)
        cut.start()
        code = "import time; time.sleep(2.5); print(1)"
        assert broken.run_code(code, labels=labels).stdout == "1\n"
        cut.join()


def test_what_runs_in_a_sandbox_is_not_run_twice(relay, client):
    # Its files would show both.
    code = "open('count', 'a').write('x'); import time; time.sleep(0.7); 42"
    with client.sandbox() as box:
        with Client(relay.address, retry_for=20) as broken:
            same = sandglass.Sandbox.connect(box.id, client=broken)
            cut = cut_later(relay, lambda: box.files.exists("count"))
            with pytest.raises(sandglass.DaemonUnavailable, match="broke"):
                same.run_code(code)
            cut.join()
            # The sandbox is as it was, and the connection is made anew. A call
            # that may be repeated waits for that: gRPC tells of the break
            # before it has done with the old one, which the next call may meet.
            assert same.files.exists("count")
            assert same.run_code("6 * 7").text == "42"
        assert box.files.read("count") == b"x"


def test_a_program_by_itself_is_made_again(relay, client):
    def goes_on():
        return any(run.state == 2 for run in client.runs(test="again"))

    with Client(relay.address, retry_for=20) as broken:
        cut = cut_later(relay, goes_on)
        result = broken.run_code(
            "import time; time.sleep(0.7); print(42)", labels={"test": "again"}
        )
        cut.join()
    assert result.stdout == "42\n"


def test_an_answer_that_was_lost_is_found_by_its_id(client):
    # What a second try gets when only the answer was lost.
    first = client.run_code("import random; print(random.random())", request_id="lost")
    again = client.run_code("import random; print(random.random())", request_id="lost")
    assert again.raw.replayed and again.stdout == first.stdout


def test_files_are_read_and_written_all_the_same(relay, client):
    data = bytes(range(256)) * 4096 * 8
    with client.sandbox("bash") as box:
        with Client(relay.address, retry_for=20) as broken:
            files = sandglass.Sandbox.connect(box.id, client=broken).files
            stop = threading.Event()

            def cut_often():
                while not stop.wait(0.15):
                    relay.cut()

            thread = threading.Thread(target=cut_often)
            thread.start()
            try:
                for i in range(10):
                    files.write(f"f{i % 2}", data)
                    assert files.read(f"f{i % 2}") == data
            finally:
                stop.set()
                thread.join()


def test_a_stream_of_a_run_that_broke_says_so(relay, client):
    with Client(relay.address, retry_for=20) as broken:
        code = "import time\nprint('on', flush=True)\ntime.sleep(20)"
        with broken.stream_code(code, labels={"test": "broken"}) as run:
            with pytest.raises(sandglass.DaemonUnavailable, match="broke"):
                for event in run:
                    if event.kind == "output":
                        relay.cut()
    wait_for(lambda: all(run.outcome for run in client.runs(test="broken")))
