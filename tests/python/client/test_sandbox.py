"""Sandboxes: state, commands, life."""

import io
import signal
import threading
import time
from html.parser import HTMLParser

import pytest
import sandglass
from sandglass import Outcome, Sandbox


@pytest.fixture
def box(client):
    with client.sandbox() as box:
        yield box


def test_state_stays(box):
    assert box.run_code("x = 20").text is None
    assert box.run_code("x + 1").text == "21"
    assert box.run_code("x", context="other").error.name == "NameError"
    box.restart()
    assert box.run_code("x").error.name == "NameError"


def test_other_languages_share_the_files(box):
    box.run_code("open('a', 'w').write('hé')")
    assert box.run_code("cat a", "bash").stdout == "hé"
    assert box.run_code("require('fs').readFileSync('a', 'utf8')", "js").text == "'hé'"


def test_a_figure_is_an_image(box):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    result = box.run_code(code, timeout=25)
    (figure,) = result.results
    assert figure.png.startswith(b"\x89PNG")
    assert "image/png" in figure
    assert figure._repr_mimebundle_()["image/png"] == figure.png
    assert '<img src="data:image/png;base64,' in result._repr_html_()


def test_results_in_several_forms(box):
    result = box.run_code(
        "class A:\n"
        "  def _repr_html_(self): return '<b>a</b>'\n"
        "  def __repr__(self): return 'a'\n"
        "A()"
    )
    (rich,) = result.results
    assert (rich.text, rich.html, rich.png, rich.json) == ("a", "<b>a</b>", None, None)


HOSTILE = """
class Page:
    def _repr_mimebundle_(self, include=None, exclude=None):
        script = "<script>parent.steal('here')</script>"
        return {
            "text/plain": "page", "text/latex": "$x$", "text/markdown": script,
            "text/html": script + '"><img onerror="parent.steal()">',
            "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'>" + script + "</svg>",
            "application/javascript": "parent.steal('here')",
            "application/vnd.of.somebody+json": {"script": script},
        }
class Only(Page):
    def __init__(self, kind): self.kind = kind
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.kind: super()._repr_mimebundle_()[self.kind]}
display(Page(), Only("image/svg+xml"), Only("application/javascript"))
"""


class Elements(HTMLParser):
    """The elements that a notebook would make of a text, and those in frames."""

    def __init__(self, text):
        super().__init__()
        self.found, self.framed = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes).get("sandbox")))
        self.framed += dict(attributes).get("srcdoc", "")


def test_a_notebook_shows_hostile_pages_in_frames_of_their_own(box):
    result = box.run_code(HOSTILE)
    page, svg, script = (rich._repr_mimebundle_() for rich in result.results)
    assert set(page) == {"text/plain", "text/latex", "text/html"}
    assert (page["text/plain"], page["text/latex"]) == ("page", "$x$")
    # A frame with scripts and without allow-same-origin is a stranger's site.
    frame = [("iframe", "allow-scripts")]
    assert Elements(page["text/html"]).found == frame
    assert "steal('here')" in Elements(page["text/html"]).framed
    assert Elements(script["text/html"]).found == frame
    assert "steal('here')" in Elements(script["text/html"]).framed
    assert Elements(svg["text/html"]).found == [("div", None), ("img", None)]
    assert not {"image/svg+xml", "application/javascript"} & {*svg, *script}
    tags = {tag for tag, _ in Elements(result._repr_html_()).found}
    assert tags == {"pre", "iframe", "div", "img"}


def test_interrupt_keeps_the_state(box):
    box.run_code("x = 1")
    assert not box.interrupt()
    # `run_code` waits, so another thread interrupts.
    timer = threading.Timer(0.5, box.interrupt)
    timer.start()
    result = box.run_code("import time; time.sleep(20)")
    timer.join()
    assert result.error.name == "KeyboardInterrupt"
    assert box.run_code("x").text == "1"


def test_commands(box):
    result = box.execute("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert result.exit_code == 3
    assert result.outcome is Outcome.NONZERO_EXIT
    assert sorted(result.output.split()) == ["err", "out"]
    with pytest.raises(sandglass.CommandFailed) as failed:
        result.check()
    assert failed.value.result is result
    merged = box.execute("echo 1; echo 2 >&2; echo 3", merged=True)
    assert merged.output == "1\n2\n3\n"
    assert box.execute(["printf", "%s|", "a b", "$HOME"]).output == "a b|$HOME|"
    box.files.make_dir("sub")
    found = box.execute("pwd; echo $NAME; cat", cwd="sub", env={"NAME": "v"}, stdin="i")
    assert found.check().output == "/workspace/sub\nv\ni"
    assert box.execute("kill -9 $$").signal == "SIGKILL"
    late = box.execute("sleep 20", timeout=0.3)
    assert late.outcome is Outcome.TIMEOUT and late.exit_code is None
    with pytest.raises(sandglass.NotFound) as missing:
        box.execute(["no-such-program"])
    assert missing.value.reason == "PROGRAM_NOT_FOUND"


def test_much_output_is_whole_or_says_what_is_not(box):
    whole = box.execute("seq 1 200000")
    assert not whole.truncated
    assert whole.output == "".join(f"{i}\n" for i in range(1, 200001))
    cut = box.execute("seq 1 200000", max_output_bytes=1000)
    assert cut.truncated
    assert cut.output.startswith("1\n2\n") and cut.output.endswith("199999\n200000\n")
    assert len(cut.output) == 1000
    assert cut.dropped_bytes == len(whole.output) - 1000
    assert "bytes of output were left out" in str(cut)


def test_output_comes_while_the_command_runs(box):
    times = []
    with box.stream_command("echo 1; sleep 0.5; echo 2") as stream:
        for event in stream:
            if event.kind == "output":
                times.append((event.text, time.monotonic()))
    assert [text for text, _ in times] == ["1\n", "2\n"]
    assert times[1][1] - times[0][1] > 0.3
    assert stream.end.ok


def test_leaving_a_stream_stops_its_command(box):
    with box.stream_command("echo begin; sleep 30") as stream:
        for event in stream:
            if event.kind == "output":
                break
    assert box.execute("pgrep -c sleep").output == "0\n"


def test_input_in_pieces(box):
    pieces = (b"%d\n" % i for i in range(1000))
    assert box.execute("wc -l", stdin=pieces).stdout == "1000\n"
    long = bytes(20 << 20)
    assert box.execute("wc -c", stdin=long).stdout == f"{20 << 20}\n"
    assert box.execute("wc -c", stdin=io.BytesIO(long)).stdout == f"{20 << 20}\n"
    assert box.execute("head -c 2", stdin=io.BytesIO(long)).stdout == "\0\0"
    slow = box.start("sleep 0.3; wc -c", open_stdin=True)
    slow.write(long)
    slow.write(b"!", close=True)
    assert slow.wait().output == f"{(20 << 20) + 1}\n"
    assert box.start("wc -c", stdin=iter([b"12", b"3"])).wait().output == "3\n"

    def broken(pieces):
        yield from [b"1"] * pieces
        raise KeyError("of the source")

    for count in (0, 1, 0, 2):
        with pytest.raises(KeyError, match="of the source"):
            box.execute("cat", stdin=broken(count))
    with pytest.raises(KeyError, match="of the source"):
        slow = box.start("cat", open_stdin=True)
        slow.write(broken(0))
    with pytest.raises(TypeError, match="stdin must be bytes, a str or a binary file"):
        box.execute("cat", stdin=5)
    with pytest.raises(sandglass.InvalidRequest, match="open_stdin"):
        box.start("sleep 5").write(long)
    assert box.execute("echo on").stdout == "on\n"


def test_commands_are_listed_and_awaited(box):
    assert box.commands() == []
    box.start("exit 3", cwd="/tmp").wait()
    sleeper = box.start("sleep 30")
    first, second = box.commands()
    assert (first.id, first.end, first.background) == (sleeper.id, None, True)
    assert first.argv[-1] == "sleep 30"
    assert (second.end.exit_code, second.directory) == (3, "/tmp")
    assert second.end.outcome is Outcome.NONZERO_EXIT
    with pytest.raises(sandglass.DeadlineExceeded, match="goes on after 0.1 s"):
        sleeper.wait(timeout=0.1)
    assert sleeper.end is None
    sleeper.stop()
    assert sleeper.wait(timeout=20).signal == "SIGTERM"


def test_a_terminal_changes_its_size(box):
    shell = box.start("stty size; read line; stty size", terminal=(24, 80))
    assert shell.read(10) == "24 80\r\n"
    shell.resize(50, 132)
    shell.write("\n")
    assert shell.wait(timeout=20).output.endswith("50 132\r\n")


def test_commands_in_the_background(box):
    cat = box.start("cat", open_stdin=True)
    assert cat.end is None
    cat.write("one\n")
    assert cat.read(10) == "one\n"
    again = box.command(cat.id)
    assert again.read(10) == "one\n"
    cat.write("two\n", close=True)
    assert again.wait().output == "one\ntwo\n"
    assert cat.end.ok
    sleeper = box.start(
        "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done"
    )
    assert sleeper.read(10) == "up\n"
    sleeper.stop()
    result = sleeper.wait()
    assert result.exit_code == 7
    # The shell may say what became of its sleep.
    assert result.output.startswith("up\n") and result.output.endswith("bye\n")
    killed = box.start("sleep 30")
    killed.signal(signal.SIGKILL)
    assert killed.wait().signal == "SIGKILL"
    terminal = box.start("stty size", terminal=(11, 77))
    assert terminal.wait().output.strip() == "11 77"


def test_where_it_is_and_what_it_is(client):
    with client.sandbox(labels={"thread": "t1"}, idle_timeout=60) as box:
        info = box.info()
        assert (info.id, info.language, info.state) == (box.id, "python", "active")
        assert [i.id for i in client.sandboxes(thread="t1")] == [box.id]
        assert client.sandboxes(thread="t2") == []
        box.run_code("x = 1")
        with Sandbox.connect(box.id, client=client) as other:
            assert other.run_code("x").text == "1"
        found = Sandbox.get_or_create(labels={"thread": "t1"}, client=client)
        assert found.id == box.id
        found.close()
        box.pause()
        assert box.info().state == "paused"
        box.resume()
        assert box.run_code("x").text == "1"
        box.update(labels={"thread": "t3"}, idle_timeout=30)
        assert box.info().labels == {"thread": "t3"}


def test_forks_have_the_files(box):
    box.files.write("a", "1")
    children = box.fork(2)
    assert [child.files.read("a") for child in children] == [b"1", b"1"]
    children[0].files.write("a", "2")
    assert box.files.read_text("a") == "1"
    for child in children:
        child.close()


def test_one_that_ended_says_why(client):
    box = client.sandbox()
    box.close()
    box.close()  # twice does no harm
    for use in (
        lambda: box.run_code("1"),
        lambda: box.execute("true"),
        lambda: box.files.read("a"),
        lambda: list(box.stream_code("1")),
        lambda: Sandbox.connect(box.id, client=client),
    ):
        with pytest.raises(sandglass.SessionGone) as gone:
            use()
        assert gone.value.reason == "SESSION_DELETED"
    with pytest.raises(sandglass.SessionGone) as never:
        Sandbox.connect("ses-0000000000000000", client=client)
    assert never.value.reason == "SESSION_NOT_FOUND"


def test_an_error_inside_of_its_with_is_the_one_that_is_seen(client):
    with pytest.raises(KeyError):
        with client.sandbox() as box:
            box.delete()
            raise KeyError("mine")


def test_it_is_deleted_at_the_end_of_its_with(client):
    with client.sandbox() as box:
        pass
    assert box.id not in [info.id for info in client.sandboxes()]


def test_one_with_a_client_of_its_own(daemon, monkeypatch):
    monkeypatch.setenv("SANDGLASS_ADDRESS", daemon.address)
    with Sandbox("bash") as box:
        assert box.run_code("echo 1").stdout == "1\n"
    with pytest.raises(RuntimeError, match="the client is closed"):
        box.run_code("echo 1")
    with pytest.raises(sandglass.InvalidRequest):
        Sandbox("cobol")
