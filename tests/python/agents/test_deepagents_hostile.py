"""What models and sandboxes send that nobody would: the backend of deepagents
tells it in results, bounded in time, or does what was meant."""

import asyncio
import dataclasses
import os
import time

import pytest
import sandglass
from langchain_core.runnables import RunnableLambda
from sandglass import _deep_files, _deep_glob
from sandglass.deepagents import SandglassBackend, ThreadBackend

LONE = "\ud800"  # JSON can carry it, UTF-8 can't


@pytest.fixture(scope="module")
def backend(client):
    with SandglassBackend.create(client=client) as backend:
        yield backend


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("ls", (LONE,)),
        ("read", (f"/{LONE}",)),
        ("write", (f"/workspace/{LONE}", "")),
        ("write", ("/workspace/a", LONE)),
        ("edit", ("/workspace/a", LONE, "b")),
        ("delete", (f"/{LONE}",)),
        ("grep", (LONE,)),
        ("grep", ("a", None, LONE)),
        ("glob", (LONE,)),
        ("glob", ("*", f"/{LONE}")),
    ],
)
def test_text_that_utf8_can_not_carry(backend, method, args):
    async def twin():
        return await getattr(backend, f"a{method}")(*args)

    result = getattr(backend, method)(*args)
    assert "lone surrogate" in result.error
    assert asyncio.run(twin()) == result


def test_commands_that_can_not_be_sent(backend):
    for command in (f"echo {LONE}", "echo a\0b", ""):
        answer = backend.execute(command)
        assert answer == asyncio.run(backend.aexecute(command))
        assert answer.output.startswith("Nothing ran: ")
        assert answer.exit_code is None


def test_a_bad_path_spoils_no_batch(backend):
    bad = [f"/workspace/{LONE}", "", "a", "/workspace/a\0", "/" + "x" * 5000]
    ups = backend.upload_files(
        [(path, b"1") for path in [*bad, "/workspace/good"]],
    )
    assert [up.error for up in ups] == ["invalid_path"] * len(bad) + [None]
    downs = backend.download_files([*bad, "/workspace/good"])
    assert [down.error for down in downs] == ["invalid_path"] * len(bad) + [None]
    assert downs[-1].content == b"1"


def test_edits_keep_the_ends_of_lines(backend):
    # `read` shows all ends as \n, so that is what a model sends.
    for content, ending in ((b"a\r\nb\r\nc\r\n", b"\r\n"), (b"a\nb\nc\n", b"\n")):
        backend.upload_files([("/workspace/ends", content)])
        for old in ("a\nb", "x\r\ny"):
            new = "x\ny" if old == "a\nb" else "a\r\nz"
            assert backend.edit("/workspace/ends", old, new).occurrences == 1
        (down,) = backend.download_files(["/workspace/ends"])
        assert down.content == ending.join([b"a", b"z", b"c", b""])
    assert "not found" in backend.edit("/workspace/ends", "q\nq", "").error


def test_relative_paths_are_below_the_workspace(backend, monkeypatch, tmp_path):
    # And not below where this process happens to be.
    monkeypatch.chdir(tmp_path)
    backend.write("/workspace/rel/a.py", "needle")
    backend.write("/workspace/rel/.h/b.py", "needle")
    assert [e["path"] for e in backend.ls("rel").entries] == [
        "/workspace/rel/.h",
        "/workspace/rel/a.py",
    ]
    for pattern in ("**/*.py", "/*.py"):
        (found,) = backend.glob(pattern, "rel").matches
        assert found["path"] == "/workspace/rel/a.py"
    for include in ("/*.py", "a.py"):
        (match,) = backend.grep("needle", "rel", include).matches
        assert match["path"] == "/workspace/rel/a.py"


def test_what_nobody_meant_takes_no_place(backend):
    backend.upload_files(
        [(f"/workspace/repo/.git/{i}", b"needle\n") for i in range(50)]
        + [(f"/workspace/repo/src/{i}", b"needle\n") for i in range(3)]
    )
    paths = [f"/workspace/repo/src/{i}" for i in range(3)]
    for most, truncated in ((2, True), (3, False), (5, False)):
        result = backend.grep("needle", "/workspace/repo", max_count=most)
        assert [match["path"] for match in result.matches] == paths[:most]
        assert result.truncated == truncated
    in_git = backend.grep("needle", "/workspace/repo/.git", max_count=100)
    assert len(in_git.matches) == 50


def test_trees_without_end(backend):
    code = (
        "import os\n"
        "for _ in range(1300): os.mkdir('dd'); os.chdir('dd')\n"
        "open('.hidden', 'w')"
    )
    assert backend.execute(f'python3 -c "{code}"').exit_code == 0
    begin = time.monotonic()
    (found,) = backend.glob("**/.hidden").matches
    assert found["path"].endswith("/dd/.hidden")
    assert backend.glob("**/*/" * 12 + "*").matches == []
    assert backend.delete("/workspace/dd").error is None
    assert time.monotonic() - begin < 20


def test_many_ways_to_match_cost_no_more_than_one():
    begin = time.process_time()
    path = "/r/" + "a/" * 500 + ".h"
    candidates = _deep_glob.expand("**/*/" * 30 + "*")
    assert not _deep_glob.shows(path, "/r", candidates)
    assert _deep_glob.shows(path, "/r", ["**/*/" * 30 + ".h"])
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        (".*", True),
        ("*", False),
        ("**/.x/*", True),
        ("**/.x", False),
        ("a/**/b", False),
        ("a/.x/[^c]", True),
        ("a/.x/[^b]", False),
        ("**/**/.x/**", True),
        ("a//.x/b", True),
    ],
)
def test_hidden_parts(pattern, shown):
    path = "/r/a/.x/b" if "/" in pattern else "/r/.b"
    assert _deep_glob.shows(path, "/r", [pattern]) == shown


def test_output_whose_middle_is_left_out_says_so(backend):
    answer = backend.execute("seq 1 1000000")
    head, _, rest = answer.output.partition("\n[… ")
    count, _, tail = rest.partition(" bytes are left out here …]\n")
    assert answer.truncated
    whole = "".join(f"{i}\n" for i in range(1, 1_000_001))
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + len(tail) + int(count) == len(whole)


def test_older_deepagents(backend, monkeypatch):
    # deepagents-code 0.1.57 has deepagents 0.7.6, whose results know less.
    @dataclasses.dataclass
    class OldGlob:
        error: str | None = None
        matches: list | None = None
        truncated: bool = False

    @dataclasses.dataclass
    class OldRead:
        error: str | None = None
        file_data: dict | None = None

    monkeypatch.setattr(_deep_files, "GlobResult", OldGlob)
    monkeypatch.setattr(_deep_files, "ReadResult", OldRead)
    backend.write("/workspace/old/a", "1")
    assert len(backend.glob("*", "/workspace/old").matches) == 1
    assert backend.glob("*", "/usr").truncated
    assert backend.read("/workspace/old/a", 0, 0).file_data["content"] == ""


def in_thread(backend, thread, command):
    step = RunnableLambda(lambda _: backend.execute(command).output)
    return step.invoke(None, {"configurable": {"thread_id": thread}})


def test_thread_ids_of_all_kinds(daemon, client):
    threads = [0, "a b/ü@", "x\ny", "x\nz", "x" * 300 + "1", "x" * 300 + "2", LONE]
    with ThreadBackend(address=daemon.address, labels={"app": "odd"}) as backend:
        for thread in threads:
            assert in_thread(backend, thread, "cat f; echo mine > f") == (
                "cat: f: No such file or directory\n"
            )
        for thread in threads:
            assert in_thread(backend, thread, "cat f") == "mine\n"
    boxes = client.sandboxes(app="odd")
    assert len(boxes) == len(threads)
    for box in boxes:
        sandglass.Sandbox.connect(box.id, client=client).delete()


def test_an_asynchronous_with_deletes_what_it_made(client):
    async def main():
        async with SandglassBackend.create(client=client) as backend:
            assert (await backend.aexecute("echo 1")).output == "1\n"
            return backend.id

    gone = asyncio.run(main())
    with pytest.raises(sandglass.SessionGone):
        sandglass.Sandbox.connect(gone, client=client)


def test_an_error_on_its_way_says_more_than_the_end(make_daemon):
    own = make_daemon()
    with sandglass.Client(own.address, retry_for=0) as client:
        with (
            pytest.raises(KeyError, match="mine"),
            SandglassBackend.create(client=client),
        ):
            own.stop()
            raise KeyError("mine")
        with pytest.raises(sandglass.DaemonUnavailable):
            SandglassBackend.create(client=client)


def test_the_provider_deletes_where_it_made(daemon, client, monkeypatch):
    # deepagents-code passes its parameters to `get_or_create`, but not to `delete`.
    from sandglass.deepagents_provider import SandglassProvider

    monkeypatch.setenv("SANDGLASS_ADDRESS", "unix:/nonexistent/sock")
    provider = SandglassProvider()
    made = provider.get_or_create(address=daemon.address, labels={"app": "where"})
    assert os.environ["SANDGLASS_ADDRESS"] not in daemon.address
    assert len(client.sandboxes(app="where")) == 1
    provider.delete(sandbox_id=made.id)
    assert client.sandboxes(app="where") == []
