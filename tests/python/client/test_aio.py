"""The asynchronous client."""

import asyncio
import contextlib
import io
import os
import threading
import time

import pytest
import sandglass
from sandglass import AsyncClient, AsyncSandbox, Outcome

TEN_MIB = os.urandom(10 << 20)


@pytest.fixture
async def aclient(daemon):
    async with AsyncClient(daemon.address) as client:
        yield client


@pytest.fixture
async def abox(aclient):
    async with aclient.sandbox() as box:
        yield box


async def ended_runs(aclient, label):
    """Outcomes of the runs with this label, once all have ended."""
    for _ in range(500):
        runs = await aclient.runs(test=label)
        if runs and all(run.outcome for run in runs):
            return [run.outcome for run in runs]
        await asyncio.sleep(0.02)
    return []


async def test_programs(aclient):
    result = await aclient.run_code("print(6 * 7)")
    assert result.stdout == "42\n"
    async with aclient.stream_code("print(1)\nimport sys\nsys.exit(3)") as run:
        kinds = [event.kind async for event in run]
        result = await run.result
        assert (await run.result()).raw == result.raw  # as it once was
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert result.exit_code == 3
    with pytest.raises(sandglass.InvalidRequest):
        await aclient.run_code("1", "cobol")
    with pytest.raises(TypeError, match="did you mean 'timeout'"):
        await aclient.run_code("1", timout=1)
    info = await aclient.info()
    assert "python" in [language.id for language in info.languages]
    # Both are made of one source.
    assert info.version == sandglass.__version__


async def test_a_hundred_at_once(aclient):
    results = await asyncio.gather(
        *(aclient.run_code(f"print({i})") for i in range(100))
    )
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(100)]


async def test_no_thread_is_made_for_calls(aclient, abox):
    await aclient.run_code("1")
    before = threading.active_count()
    runs = asyncio.gather(*(abox.execute("sleep 0.3") for _ in range(8)))
    await asyncio.sleep(0.1)
    assert threading.active_count() == before
    assert all(result.ok for result in await runs)


async def test_input_in_pieces(abox):
    async def numbers():
        for i in range(1000):
            yield b"%d\n" % i

    assert (await abox.execute("wc -l", stdin=numbers())).stdout == "1000\n"
    long = io.BytesIO(TEN_MIB * 2)
    assert (await abox.execute("wc -c", stdin=long)).stdout == f"{20 << 20}\n"
    assert (await abox.execute("head -c 3", stdin=numbers())).stdout == "0\n1"
    counter = await abox.start("wc -c", open_stdin=True)
    await counter.write(numbers())
    await counter.write(TEN_MIB, close=True)
    assert (await counter.wait()).output == f"{3890 + (10 << 20)}\n"

    async def broken():
        yield b"1"
        raise KeyError("of the source")

    with pytest.raises(KeyError, match="of the source"):
        await abox.execute("cat", stdin=broken())
    assert (await abox.execute("echo on")).stdout == "on\n"


async def test_what_ends_while_it_is_being_sent_to_says_why(aclient, abox):
    async def much():
        for _ in range(200):
            yield bytes(64 << 10)

    # gRPC lost the daemon's status in about every second of them.
    for _ in range(20):
        head = await abox.start("head -c 3 >/dev/null", open_stdin=True)
        await head.write(much(), close=True)
        assert (await head.wait()).exit_code == 0
        assert (await abox.execute("head -c 3 | wc -c", stdin=much())).stdout == "3\n"
        with pytest.raises(sandglass.FileError, match="/proc/none"):
            await abox.files.write("/proc/none", io.BytesIO(TEN_MIB))
    unknown = await abox.start("true")
    await unknown.wait()
    await abox.close()
    for _ in range(20):
        with pytest.raises(sandglass.SessionGone):
            await unknown.write(much())
        with pytest.raises(sandglass.SessionGone):
            await abox.execute("cat", stdin=much())
        with pytest.raises(sandglass.SessionGone):
            await abox.files.write("x", io.BytesIO(TEN_MIB))


async def test_sandboxes(aclient, abox):
    await abox.run_code("x = 20")
    assert (await abox.run_code("x + 1")).text == "21"
    assert (await abox.run_code("echo $((1 + 1))", "bash")).stdout == "2\n"
    result = await abox.execute("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    cat = await abox.start("cat", open_stdin=True)
    await cat.write("one\n")
    assert await cat.read(10) == "one\n"
    assert await cat.end is None
    await cat.write("", close=True)
    assert (await cat.wait()).output == "one\n"
    assert (await cat.end).ok
    assert (await abox.commands())[0].id == cat.id
    sleeper = await abox.start("sleep 30")
    with pytest.raises(sandglass.DeadlineExceeded, match="goes on after 0.1 s"):
        await sleeper.wait(timeout=0.1)
    await sleeper.stop()
    assert (await sleeper.wait()).signal == "SIGTERM"
    (child,) = await abox.fork()
    assert child.id != abox.id
    await child.close()
    await abox.pause()
    assert (await abox.info()).state == "paused"
    await abox.resume()
    await abox.update(labels={"a": "b"})
    assert [i.id for i in await aclient.sandboxes(a="b")] == [abox.id]
    assert not await abox.interrupt()
    await abox.restart()
    assert (await abox.run_code("x")).error.name == "NameError"


async def test_files(abox):
    await abox.files.write("large", TEN_MIB)
    assert await abox.files.read("large") == TEN_MIB
    await abox.files.write("file", io.BytesIO(TEN_MIB))
    wanted = {f"many/{i}": f"{i}" for i in range(1000)}
    assert not any(up.error for up in await abox.files.upload(wanted))
    downs = await abox.files.download([*wanted, "large", "none"])
    assert [d.content for d in downs[:1000]] == [c.encode() for c in wanted.values()]
    assert downs[1000].content == TEN_MIB and downs[1001].error == "file_not_found"
    assert len(await abox.files.list("many")) == 1000
    assert not await abox.files.exists("none")
    with pytest.raises(sandglass.FileError):
        await abox.files.stat("none")
    await abox.files.move("many/1", "one")
    assert await abox.files.edit("one", "1", "2") == 1
    assert await abox.files.read_text("one") == "2"
    assert len(await abox.files.glob("many/99*")) == 11
    assert (await abox.files.grep("2", "one"))[0].line == 1
    await abox.files.make_dir("dir")
    archive = b"".join([piece async for piece in abox.files.snapshot("many")])
    assert await abox.files.restore(archive, "copy") == 999
    changes = abox.files.watch(interval=0.1)
    assert await anext(changes) == []
    await abox.files.remove("one")
    assert (await anext(changes))[0].kind == "removed"
    await changes.aclose()


async def test_how_a_sandbox_comes_and_goes(aclient, daemon, monkeypatch):
    box = await aclient.sandbox()
    async with AsyncSandbox.connect(box.id, client=aclient) as same:
        assert same.id == box.id
    assert (await box.info()).id == box.id
    await box.close()
    await box.close()
    with pytest.raises(sandglass.SessionGone):
        await box.run_code("1")
    got = AsyncSandbox.get_or_create(labels={"aio": "1"}, client=aclient)
    with pytest.raises(RuntimeError, match="isn't made yet"):
        await got.run_code("1")
    async with got:
        pass
    again = await AsyncSandbox.get_or_create(labels={"aio": "1"}, client=aclient)
    assert again.id == got.id
    await again.delete()
    monkeypatch.setenv("SANDGLASS_ADDRESS", daemon.address)
    async with AsyncSandbox("bash") as own:
        assert (await own.run_code("echo 1")).stdout == "1\n"
    with pytest.raises(sandglass.InvalidRequest):
        await AsyncSandbox("cobol")


async def test_a_task_that_is_cancelled_cancels_its_run(aclient):
    task = asyncio.create_task(
        aclient.run_code("import time; time.sleep(20)", labels={"test": "cancel"})
    )
    # One that is cancelled while it waits has no outcome.
    while not any(run.state == 2 for run in await aclient.runs(test="cancel")):
        await asyncio.sleep(0.02)
    begin = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await ended_runs(aclient, "cancel") == [Outcome.CANCELLED]
    assert time.monotonic() - begin < 10


async def test_a_timeout_of_asyncio_cancels_its_run(aclient):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await aclient.run_code(
                "import time; time.sleep(20)", labels={"test": "timeout"}
            )
    assert await ended_runs(aclient, "timeout") == [Outcome.CANCELLED]


async def test_cancelled_streams_cells_and_commands(aclient, abox):
    async def read_all():
        async for _ in aclient.stream_code(
            "import time; time.sleep(20)", labels={"test": "stream"}
        ):
            pass

    for wait in (
        read_all(),
        abox.run_code("x = 1; import time; time.sleep(20)"),
        abox.execute("sleep 21"),
    ):
        task = asyncio.create_task(wait)
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await ended_runs(aclient, "stream") == [Outcome.CANCELLED]
    assert (await abox.execute("pgrep -c sleep")).output == "0\n"
    # The interrupt leaves the cell's state.
    assert (await abox.run_code("x")).text == "1"


async def test_one_of_many_fails_and_the_group_cancels_the_others(aclient):
    with contextlib.suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(
                    aclient.run_code(
                        "import time; time.sleep(20)", labels={"test": "group"}
                    )
                )
            for _ in range(500):
                runs = await aclient.runs(test="group")
                if [run.state for run in runs] == [2] * 3:
                    break
                await asyncio.sleep(0.02)
            group.create_task(aclient.run_code("1", "cobol"))
    assert await ended_runs(aclient, "group") == [Outcome.CANCELLED] * 3


def test_no_event_loop(daemon):
    client = AsyncClient(daemon.address)  # nothing wrong with that
    box = client.sandbox()
    coroutine = client.run_code("1")
    with pytest.raises(RuntimeError, match="no running event loop"):
        coroutine.send(None)
    with pytest.raises(RuntimeError, match="isn't made yet"):
        _ = box.id


def test_one_client_in_several_loops(daemon):
    client = AsyncClient(daemon.address)

    async def run():
        return (await client.run_code("print(1)")).stdout

    assert [asyncio.run(run()) for _ in range(3)] == ["1\n"] * 3
    asyncio.run(client.close())
    with pytest.raises(RuntimeError, match="the client is closed"):
        asyncio.run(run())


async def test_a_daemon_that_is_started_again_is_found(make_daemon):
    own = make_daemon()
    async with AsyncClient(own.address, retry_for=30) as client:
        assert (await client.run_code("print(1)")).ok
        own.stop()
        starter = threading.Timer(0.5, own.start)
        starter.start()
        assert (await client.run_code("print(2)")).stdout == "2\n"
        await asyncio.to_thread(starter.join)


async def test_no_daemon(tmp_path):
    async with AsyncClient(f"unix:{tmp_path}/none", retry_for=0) as client:
        with pytest.raises(sandglass.DaemonUnavailable, match="no such socket"):
            await client.run_code("1")
    with pytest.raises(ValueError, match="is no address"):
        AsyncClient("here")
