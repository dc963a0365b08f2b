"""What deepagents' contract wants beyond its suite, and what goes wrong."""

import asyncio
import base64
import inspect
import os
import threading
import time

import pytest
import sandglass
from deepagents.backends.protocol import (
    SandboxBackendProtocol,
    _method_accepts_max_count,
    _supports_delete,
    execute_accepts_timeout,
)
from sandglass.deepagents import SandglassBackend, ThreadBackend

TEN_MIB = os.urandom(10 << 20)


@pytest.fixture(scope="module")
def backend(client):
    with SandglassBackend.create(client=client) as backend:
        yield backend


def in_both_ways(backend, method, *args, **options):
    """The result of a method and of its asynchronous twin, which must be one."""

    async def twin():
        return await getattr(backend, f"a{method}")(*args, **options)

    result = getattr(backend, method)(*args, **options)
    assert asyncio.run(twin()) == result
    return result


def test_all_methods_are_its_own(backend):
    # Those of the protocol raise, or run the synchronous one in a thread.
    for name, method in inspect.getmembers(SandboxBackendProtocol, callable):
        if not name.startswith("_"):
            assert getattr(SandglassBackend, name) is not method, name
    assert execute_accepts_timeout(type(backend))
    assert _method_accepts_max_count(type(backend), "grep")
    assert _method_accepts_max_count(type(backend), "agrep")
    assert _supports_delete(backend)
    assert backend.id == backend.sandbox.id


def test_what_is_left_running_is_said(backend):
    command = "nohup sleep 60 >/dev/null 2>&1 & echo on"
    answer = in_both_ways(backend, "execute", command)
    assert answer.output == "on\n[1 process was still running at its end, and killed]"
    assert answer.exit_code == 0


def test_no_thread_runs_for_asyncio(backend):
    async def main():
        await backend.als("/workspace")
        before = threading.active_count()
        commands = asyncio.gather(*(backend.aexecute("sleep 0.3") for _ in range(4)))
        await asyncio.sleep(0.1)
        assert threading.active_count() == before
        return await commands

    assert [answer.exit_code for answer in asyncio.run(main())] == [0] * 4


def test_output_is_in_the_order_of_its_writing(backend):
    answer = in_both_ways(backend, "execute", "echo 1; echo 2 >&2; echo 3; exit 4")
    assert (answer.output, answer.exit_code) == ("1\n2\n3\n", 4)
    assert not answer.truncated


def test_how_commands_end(backend):
    late = backend.execute("echo begun; sleep 20", timeout=1)
    assert late.exit_code == 124
    assert late.output.startswith("begun\n[TIMEOUT: ")
    killed = backend.execute("kill -9 $$")
    assert killed.exit_code == 137
    assert "SIGKILL" in killed.output
    assert backend.execute("exit 124").output == ""
    # Above the profile's limit means that limit; 0 means no wish.
    assert backend.execute("echo ok", timeout=100_000).output == "ok\n"
    assert backend.execute("echo ok", timeout=0).output == "ok\n"
    much = backend.execute("seq 1 1000000")
    assert much.truncated and much.exit_code == 0
    assert much.output.startswith("1\n2\n") and much.output.endswith("1000000\n")
    binary = backend.execute(r"printf 'a\377b'")
    assert binary.output == "a\ufffdb"


def test_too_much_memory(client):
    limits = {"memory_bytes": 64 << 20}
    with SandglassBackend.create(client=client, limits=limits) as small:
        answer = small.execute("python3 -c 'x = bytearray(200 << 20)'")
        assert answer.exit_code == 137, answer
        assert "memory" in answer.output.lower()
        assert small.execute("echo on").output == "on\n"


def test_pages_of_a_file(backend):
    text = "".join(f"line {i}\n" for i in range(1, 11))
    backend.write("/workspace/ten.txt", text)
    whole = in_both_ways(backend, "read", "/workspace/ten.txt")
    assert whole.file_data == {"content": text.rstrip("\n"), "encoding": "utf-8"}
    assert (whole.start_line, whole.end_line, whole.total_lines) == (1, 10, 10)
    assert whole.next_offset is None
    page = in_both_ways(backend, "read", "/workspace/ten.txt", 3, 2)
    assert page.file_data["content"] == "line 4\nline 5"
    assert (page.start_line, page.end_line, page.next_offset) == (4, 5, 5)
    assert backend.read("/workspace/ten.txt", -5, 1).file_data["content"] == "line 1"
    nothing = backend.read("/workspace/ten.txt", 0, 0)
    assert nothing.no_lines_requested and nothing.file_data["content"] == ""
    assert "10 lines" in backend.read("/workspace/ten.txt", 10).error
    backend.write("/workspace/crlf", "a\r\nb\r\n")
    assert backend.read("/workspace/crlf").file_data["content"] == "a\nb"
    backend.write("/workspace/no-end", "a\nb")
    assert backend.read("/workspace/no-end").total_lines == 2


def test_a_large_file_is_read_page_by_page(backend):
    lines = [f"{i:06d} {'é' * 40}" for i in range(60_000)]
    backend.write("/workspace/large.txt", "\n".join(lines) + "\n")
    seen, offset = [], 0
    while offset is not None:
        page = backend.read("/workspace/large.txt", offset, 2000)
        seen += page.file_data["content"].split("\n")
        offset = page.next_offset
    assert seen == lines
    # A page that is too large for one answer says where it goes on.
    cut = backend.read("/workspace/large.txt", 0, 50_000)
    assert cut.next_offset == cut.end_line < 50_000
    assert "Read on with a larger offset" in cut.file_data["content"]
    assert len(cut.file_data["content"].encode()) < 513_000
    following = backend.read("/workspace/large.txt", cut.next_offset, 1)
    assert following.file_data["content"] == lines[cut.next_offset]


def test_one_endless_line(backend):
    backend.write("/workspace/one", "x" * (2 << 20))
    page = backend.read("/workspace/one")
    assert page.file_data["content"].startswith("x" * 1000)
    assert len(page.file_data["content"]) < 513_000


def test_what_is_no_text(backend):
    backend.upload_files(
        [("/workspace/b.bin", b"\xff\xfe\0"), ("/workspace/i.png", b"x")]
    )
    for name, content in (("b.bin", b"\xff\xfe\0"), ("i.png", b"x")):
        data = in_both_ways(backend, "read", f"/workspace/{name}").file_data
        assert data["encoding"] == "base64"
        assert base64.b64decode(data["content"]) == content
    # A character on the border of two blocks is no binary.
    text = "a" * ((1 << 20) - 1) + "é\nend"
    backend.write("/workspace/border", text)
    assert backend.read("/workspace/border").file_data["encoding"] == "utf-8"


@pytest.mark.parametrize(
    "path",
    ["/workspace/none", "/", "/proc/self/mem", "/workspace/a\0b", "/" + "x" * 5000],
)
def test_paths_that_can_not_be_read(backend, path):
    for result in (
        backend.read(path),
        backend.edit(path, "a", "b"),
        backend.write(path if path != "/workspace/none" else "/etc/x", "a"),
    ):
        assert result.error and result.error == str(result.error)
    (down,) = backend.download_files([path])
    assert down.content is None and down.error


def test_hostile_names_are_only_names(backend):
    for name in ("$(touch pwned)", "`id`", "a;b", "'", '"', "a\nb", "-rf", "😀"):
        path = f"/workspace/names/{name}"
        assert backend.write(path, name).path == path
        assert backend.read(path).file_data["content"].startswith(name[0])
    names = [entry["path"] for entry in backend.ls("/workspace/names").entries]
    assert len(names) == 8
    listed = backend.execute("ls -R /workspace /tmp").output
    assert "pwned" not in listed.splitlines()


def test_listings(backend):
    backend.execute(
        "mkdir -p l/d && echo 12 > l/f && ln -s d l/to-d && ln -s x l/nowhere"
    )
    entries = in_both_ways(backend, "ls", "/workspace/l/").entries
    by_path = {entry["path"]: entry for entry in entries}
    assert sorted(by_path) == [
        f"/workspace/l/{n}" for n in ("d", "f", "nowhere", "to-d")
    ]
    assert by_path["/workspace/l/f"]["size"] == 3
    assert (
        by_path["/workspace/l/d"]["is_dir"] and by_path["/workspace/l/to-d"]["is_dir"]
    )
    assert not by_path["/workspace/l/nowhere"]["is_dir"]
    assert backend.ls("/workspace/none").error
    assert backend.ls("/workspace/l/f").error


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("/*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("**/*.py", ["a.py", "src/b.py"]),
        ("*.yml", [".github/workflows/ci.yml"]),
        ("**/*.yml", []),
        (".github/**/*.yml", [".github/workflows/ci.yml"]),
        (".env", [".env"]),
        ("*", ["a.py", "src/b.py", "src/c.txt", ".github/workflows/ci.yml"]),
        ("*.{py,txt}", ["a.py", "src/b.py", "src/c.txt"]),
        ("[!b].py", ["a.py"]),
        ("src", []),
        ("none", []),
    ],
)
def test_globs(backend, pattern, found):
    tree = ["a.py", "src/b.py", "src/c.txt", ".github/workflows/ci.yml", ".env"]
    backend.upload_files([(f"/workspace/g/{name}", b"x") for name in tree])
    result = in_both_ways(backend, "glob", pattern, "/workspace/g")
    assert not result.truncated and result.error is None
    paths = sorted(match["path"] for match in result.matches)
    assert paths == sorted(f"/workspace/g/{name}" for name in found)


def test_globs_that_are_refused(backend):
    for pattern in ("", "../*", "{a,b}" * 12):
        result = in_both_ways(backend, "glob", pattern)
        assert result.error and result.matches is None


def test_grep_is_literal_and_bounded(backend):
    backend.upload_files(
        [
            ("/workspace/r/a.py", b"x = a.b\nx = acb\n"),
            ("/workspace/r/.git/o", b"a.b\n"),
            ("/workspace/r/.hidden", b"a.b\n"),
        ]
    )
    result = in_both_ways(backend, "grep", "a.b", "/workspace/r")
    assert result.matches == [
        {"path": "/workspace/r/.hidden", "line": 1, "text": "a.b"},
        {"path": "/workspace/r/a.py", "line": 1, "text": "x = a.b"},
    ]
    one = in_both_ways(backend, "grep", "x", "/workspace/r", "*.py", max_count=1)
    assert len(one.matches) == 1 and one.truncated
    two = backend.grep("x", "/workspace/r", "*.py", max_count=2)
    assert len(two.matches) == 2 and not two.truncated
    assert backend.grep("nowhere", "/workspace/r").matches == []


def test_what_deepagents_keeps_at_the_root_is_elsewhere(backend):
    path = "/large_tool_results/call_1"
    assert in_both_ways(backend, "write", path, "needle\n").path == path
    assert backend.read(path).file_data["content"] == "needle"
    assert backend.edit(path, "needle", "needle 2").path == path
    (entry,) = in_both_ways(backend, "ls", "/large_tool_results").entries
    assert entry["path"] == path
    (found,) = in_both_ways(backend, "glob", "call_*", "/large_tool_results").matches
    assert found["path"] == path
    (match,) = in_both_ways(backend, "grep", "needle", "/large_tool_results").matches
    assert match["path"] == path
    assert [d.content for d in backend.download_files([path])] == [b"needle 2\n"]
    # It is in nobody's way, and commands find it.
    assert backend.grep("needle 2").matches == []
    assert backend.glob("call_1").matches == []
    assert "needle 2" in backend.execute(f"cat .deepagents{path}").output
    assert backend.delete(path).path == path


def test_delete_is_recursive(backend):
    backend.write("/workspace/del/a/b", "x")
    assert backend.delete("/workspace/del").path == "/workspace/del"
    assert backend.delete("/workspace/del").error
    backend.write("/workspace/del2", "x")
    assert asyncio.run(backend.adelete("/workspace/del2")).error is None
    assert backend.delete("/etc/passwd").error


def test_edits_that_are_refused(backend):
    backend.write("/workspace/e", "a a")
    assert "multiple" in backend.edit("/workspace/e", "a", "b").error
    assert "empty" in backend.edit("/workspace/e", "", "b").error
    assert "not found" in backend.edit("/workspace/e", "z", "b").error.lower()
    assert asyncio.run(backend.aedit("/workspace/e", "a", "b", True)).occurrences == 2


def test_an_edit_may_replace_a_long_history(backend):
    history = "".join(f"turn {i}\n" for i in range(100_000))
    assert backend.write("/conversation_history/7.md", history).error is None
    longer = history + "one more\n"
    assert backend.edit("/conversation_history/7.md", history, longer).error is None
    (read,) = backend.download_files(["/conversation_history/7.md"])
    assert read.content == longer.encode()


def test_many_and_large_files(backend):
    files = [(f"/workspace/many/{i}", str(i).encode()) for i in range(1000)]
    files += [("/workspace/big", TEN_MIB), ("relative", b""), ("/workspace", b"")]
    ups = backend.upload_files(files)
    assert [up.path for up in ups] == [path for path, _ in files]
    assert [up.error for up in ups[:1001]] == [None] * 1001
    assert [up.error for up in ups[1001:]] == ["invalid_path", "is_directory"]
    paths = [path for path, _ in files[:1001]] + ["relative", "/workspace/none"]
    downs = asyncio.run(backend.adownload_files(paths))
    assert [down.content for down in downs[:1001]] == [data for _, data in files[:1001]]
    assert [down.error for down in downs[1001:]] == ["invalid_path", "file_not_found"]
    backend.delete("/workspace/many")
    backend.delete("/workspace/big")


def test_a_sandbox_that_has_ended(client):
    box = client.sandbox()
    backend = SandglassBackend(box)
    box.close()
    assert "deleted" in backend.execute("true").output
    assert backend.execute("true").exit_code is None
    for result in (
        backend.ls("/"),
        backend.read("/a"),
        backend.write("/a", ""),
        backend.edit("/a", "b", "c"),
        backend.grep("a"),
        backend.glob("a"),
        backend.delete("/a"),
        *backend.upload_files([("/a", b"")]),
        *backend.download_files(["/a"]),
    ):
        assert "deleted" in result.error
    backend.close()


def test_no_daemon(make_daemon):
    own = make_daemon()
    with sandglass.Client(own.address, retry_for=0) as client:
        backend = SandglassBackend(client.sandbox())
        own.stop()
        with pytest.raises(sandglass.DaemonUnavailable):
            backend.execute("true")
        with pytest.raises(sandglass.DaemonUnavailable):
            asyncio.run(backend.aexecute("true"))
        assert "no daemon at" in backend.ls("/").error


def test_a_backend_of_an_asynchronous_sandbox(daemon):
    async def main():
        async with (
            sandglass.AsyncClient(daemon.address) as client,
            client.sandbox() as box,
        ):
            backend = SandglassBackend(box)
            await backend.awrite("/workspace/a", "1")
            answer = (await backend.aexecute("cat a")).output
            sync = await asyncio.to_thread(backend.execute, "cat a")
            await backend.aclose()
            return answer, sync.output

    assert asyncio.run(main()) == ("1", "1")
    with pytest.raises(TypeError, match="must be a sandglass.Sandbox"):
        SandglassBackend("ses-1")


def test_a_cancelled_command_is_stopped(backend):
    # Its processes can't be seen by another command, so it leaves signs of life.
    lives = "touch begun; while :; do date +%N > beat; sleep 0.05; done"

    async def main():
        task = asyncio.create_task(backend.aexecute(lives))
        while "begun" not in (await backend.aexecute("ls")).output:
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        end = time.monotonic() + 30
        while time.monotonic() < end:
            beats = await backend.aexecute("cat beat; sleep 0.3; cat beat")
            before, after = beats.output.split()
            if before == after:
                return True
        return False

    assert asyncio.run(main())


def in_thread(backend, thread, method, *args):
    """As a tool of an agent calls it."""
    from langchain_core.runnables import RunnableLambda

    step = RunnableLambda(lambda _: getattr(backend, method)(*args))
    return step.invoke(None, {"configurable": {"thread_id": thread}})


def test_a_sandbox_for_each_thread(daemon, client):
    backend = ThreadBackend(address=daemon.address, labels={"app": "test"})
    in_thread(backend, "one", "write", "/workspace/a", "1")
    assert in_thread(backend, "two", "read", "/workspace/a").error
    assert in_thread(backend, "one", "read", "/workspace/a").file_data["content"] == "1"
    # Another process finds it again.
    again = ThreadBackend(address=daemon.address, labels={"app": "test"})
    assert in_thread(again, "one", "execute", "cat a").output == "1"
    infos = client.sandboxes(app="test")
    assert sorted(i.labels["deepagents-thread"] for i in infos) == ["one", "two"]
    # One that has ended makes place for an empty one.
    for info in infos:
        sandglass.Sandbox.connect(info.id, client=client).delete()
    assert in_thread(backend, "one", "read", "/workspace/a").error
    assert in_thread(backend, "one", "execute", "echo on").output == "on\n"
    with pytest.raises(RuntimeError, match="needs a thread id"):
        backend.execute("true")
    with pytest.raises(TypeError, match="unexpected keyword"):
        ThreadBackend(profil="x")
    for info in client.sandboxes(app="test"):
        sandglass.Sandbox.connect(info.id, client=client).delete()
    backend.close()
    again.close()
