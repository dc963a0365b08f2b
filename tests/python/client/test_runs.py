"""Programs by themselves."""

import concurrent.futures
import datetime
import time

import pytest
import sandglass
from sandglass import Outcome


def test_a_program_tells_what_it_did(client):
    result = client.run_code("print(6 * 7)")
    assert result.ok
    assert (result.stdout, result.stderr, result.exit_code) == ("42\n", "", 0)
    assert result.outcome is Outcome.OK
    assert result.verdict.startswith("OK: The program exited with 0")
    assert result.evidence.rule == "exit-ok"
    assert result.run_id.startswith("run-")
    assert 0 < result.wall_time < 30
    assert str(result).splitlines()[1] == "42"
    assert result.check() is result


@pytest.mark.parametrize(
    ("code", "language", "stdout"),
    [
        ("console.log([1, 2].map(x => x * 2))", "javascript", "[ 2, 4 ]\n"),
        ("echo $((6 * 7))", "bash", "42\n"),
        ("puts 6 * 7", "ruby", "42\n"),
        ('#include <cstdio>\nint main() { puts("42"); }', "cpp", "42\n"),
        (
            'package main\nimport "fmt"\nfunc main() { fmt.Println(42) }',
            "go",
            "42\n",
        ),
        (
            "class Main { public static void main(String[] a) {"
            " System.out.println(42); } }",
            "java",
            "42\n",
        ),
    ],
)
def test_other_languages(client, code, language, stdout):
    result = client.run_code(code, language)
    assert result.stdout == stdout, result


@pytest.mark.parametrize(
    ("code", "outcome", "field", "value"),
    [
        ("import sys; sys.exit(3)", Outcome.NONZERO_EXIT, "exit_code", 3),
        ("import os; os.abort()", Outcome.SIGNALED, "signal", "SIGABRT"),
        ("while True: pass", Outcome.TIMEOUT, "exit_code", None),
        ("x = bytearray(2 << 30)", Outcome.MEMORY_LIMIT, "ok", False),
    ],
)
def test_a_fate_is_an_outcome_and_no_exception(client, code, outcome, field, value):
    limit = 1 if outcome is Outcome.TIMEOUT else 30
    result = client.run_code(code, timeout=limit)
    assert result.outcome is outcome, result
    assert getattr(result, field) == value
    with pytest.raises(sandglass.RunFailed) as failed:
        result.check()
    assert failed.value.result is result
    assert str(outcome) in str(failed.value)


def test_what_a_compiler_says(client):
    result = client.run_code("int main() { return x; }", "cpp")
    assert result.outcome is Outcome.COMPILE_ERROR
    assert "was not declared" in str(result)


def test_input_of_all_kinds(client):
    result = client.run_code(
        "import os, sys\n"
        "print(sys.stdin.read(), sys.argv[1:], os.environ['NAME'])\n"
        "print(open('in/data.txt').read(), open('raw', 'rb').read())\n"
        "open('out.txt', 'w').write('é')\n"
        "open('b.bin', 'wb').write(bytes(range(256)))\n",
        stdin="hé",
        args=["a b", "--c"],
        env={"NAME": "välue"},
        files={"in/data.txt": "text", "raw": b"\0\xff"},
        fetch=["*.txt", "b.bin", "missing"],
        timeout=datetime.timedelta(seconds=10),
        limits={"memory_bytes": 128 << 20, "max_processes": 8},
        labels={"kind": "test"},
    )
    assert result.stdout == ("hé ['a b', '--c'] välue\ntext b'\\x00\\xff'\n"), result
    assert result.files["out.txt"].content == "é".encode()
    assert result.files["b.bin"].content == bytes(range(256))
    assert result.files["missing"].error == "not_found"
    assert result.raw.limits.memory_bytes == 128 << 20
    assert result.raw.limits.wall_time.seconds == 10


def test_bytes_that_are_no_text(client):
    result = client.run_code("import sys; sys.stdout.buffer.write(b'a\\xff\\xc3')")
    assert result.stdout == "a\ufffd\ufffd"
    assert result.raw.stdout.data == b"a\xff\xc3"


def test_output_that_is_too_long_keeps_both_ends(client):
    result = client.run_code("print('head'); print('x' * (3 << 20)); print('tail')")
    assert result.ok and result.truncated
    assert result.stdout.startswith("head\n") and result.stdout.endswith("tail\n")
    assert "bytes left out]" in str(result)


def test_results_as_a_notebook_has_them(client):
    result = client.run_code("print('p')\n{'a': 1}", rich=True)
    assert result.text == "{'a': 1}"
    assert [r.is_value for r in result.results] == [True]
    assert result.stdout == "p\n"
    failed = client.run_code("def f():\n  1 / 0\nf()", rich=True)
    assert failed.error.name == "ZeroDivisionError"
    assert failed.error.value == "division by zero"
    assert "in f" in failed.error.traceback
    assert "ZeroDivisionError" not in failed.stderr
    assert "ZeroDivisionError" in str(failed)


def test_events_come_while_it_runs(client):
    code = (
        "import sys, time\n"
        "print('one', flush=True); time.sleep(0.5)\n"
        "print('two', file=sys.stderr)"
    )
    seen = []
    with client.stream_code(code) as run:
        for event in run:
            seen.append((event.kind, event.stream, event.text, time.monotonic()))
        assert run.result.ok
        assert run.run_id == run.result.run_id
    kinds = [kind for kind, *_ in seen]
    assert kinds[0] == "started" and kinds[-1] == "finished"
    text = {stream: "" for stream in ("stdout", "stderr")}
    when = {}
    for kind, stream, piece, at in seen:
        if kind == "output":
            text[stream] += piece
            when.setdefault(stream, at)
    assert text == {"stdout": "one\n", "stderr": "two\n"}
    assert when["stderr"] - when["stdout"] > 0.3


def test_text_that_is_cut_anywhere_is_decoded(client):
    code = (
        "import sys, time\n"
        "for b in 'é€😀'.encode():\n"
        "  sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.01)"
    )
    with client.stream_code(code) as run:
        text = "".join(event.text for event in run if event.kind == "output")
    assert text == "é€😀"


def test_a_notebook_shows_a_result(client):
    code = (
        "class Page:\n"
        "    def _repr_html_(self): return '<b onclick=\"x()\">page</b>'\n"
        "print('<script>')\n"
        "Page()"
    )
    html = client.run_code(code, rich=True)._repr_html_()
    assert html.startswith("<pre>OK: The program exited with 0")
    assert "&lt;script&gt;" in html and "<script>" not in html
    # What a program made runs its code in a frame, cut off from the notebook.
    frame = '<iframe sandbox="allow-scripts" srcdoc="&lt;b onclick=&quot;x()&quot;&gt;'
    assert frame in html


def test_leaving_a_stream_cancels_its_run(client):
    with client.stream_code("import time; time.sleep(20)") as run:
        for event in run:
            if event.kind == "started":
                break
        run_id = run.run_id
    with pytest.raises(RuntimeError, match="closed before the run ended"):
        _ = run.result
    end = time.monotonic() + 10
    while time.monotonic() < end:
        (summary,) = [r for r in client.runs() if r.run_id == run_id]
        if summary.outcome:
            break
        time.sleep(0.02)
    assert summary.outcome is Outcome.CANCELLED
    assert summary.state is sandglass.RunState.FINISHED
    assert (summary.language, summary.profile) == ("python", "default")
    assert repr(summary) == f"<RunSummary {run_id} python CANCELLED>"


def test_a_result_without_reading_the_events(client):
    assert client.stream_code("print(1)").result.stdout == "1\n"


def test_a_run_that_nobody_waits_for(client):
    assert client.run_code("print(1)", batch=True).stdout == "1\n"


def test_the_same_request_id_joins_the_first_run(client):
    code = "import random; print(random.random())"
    first = client.run_code(code, request_id="the-same")
    again = client.run_code(code, request_id="the-same")
    assert again.stdout == first.stdout
    assert again.raw.replayed and not first.raw.replayed
    with pytest.raises(sandglass.Conflict) as taken:
        client.run_code("print(1)", request_id="the-same")
    assert taken.value.reason == "REQUEST_ID_REUSED"


def test_many_threads_share_a_client(client):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = pool.map(lambda i: client.run_code(f"print({i})").stdout, range(64))
    assert list(results) == [f"{i}\n" for i in range(64)]


def test_what_the_daemon_is(client):
    info = client.info()
    assert "python" in [language.id for language in info.languages]
    assert repr(client) == f"<Client of {client.address}>"


def test_a_run_can_be_cancelled_by_its_id(client):
    with client.stream_code("import time; time.sleep(20)") as run:
        for event in run:
            if event.kind == "started":
                client.cancel(run.run_id)
        assert run.result.outcome is Outcome.CANCELLED
    with pytest.raises(sandglass.NotFound):
        client.cancel("run-0000000000000000")


def test_libraries_that_are_none_are_refused_in_words(client):
    with pytest.raises(sandglass.InvalidRequest) as refused:
        client.run_code("import six", libraries=["../six"])
    assert "../six" in str(refused.value)
    with pytest.raises(sandglass.InvalidRequest) as refused:
        client.install("python", ["--index-url=x"])
    assert "--index-url" in str(refused.value)
