"""The tool by itself: what the model is told, and what comes back."""

import asyncio
import base64
import json
import threading

import pytest
import sandglass
from conftest import skip_without_registry
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from sandglass._agent_run import IDLE_TIMEOUT, Runner
from sandglass.langchain import RunCodeTool, result_of, run_code_tool


def call(tool, id="call_1", config=None, **args):
    request = {"type": "tool_call", "name": tool.name, "id": id, "args": args}
    return tool.invoke(request, config)


async def acall(tool, id="call_1", config=None, **args):
    request = {"type": "tool_call", "name": tool.name, "id": id, "args": args}
    return await tool.ainvoke(request, config)


def thread(name):
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def tool(client):
    return run_code_tool(client=client)


class _Standard:
    @property
    def tool_constructor(self) -> BaseTool:
        return run_code_tool(address=self.address)

    @property
    def tool_invoke_params_example(self) -> dict:
        return {"lang": "python", "code": "print(6 * 7)", "libraries": []}

    @pytest.fixture(autouse=True)
    def _address(self, daemon):
        type(self).address = daemon.address


class TestStandardUnit(_Standard, ToolsUnitTests):
    pass


class TestStandardIntegration(_Standard, ToolsIntegrationTests):
    pass


def test_a_model_is_told_what_there_is(tool):
    function = convert_to_openai_tool(tool)["function"]
    assert function["name"] == "run_code"
    assert "30 s, 256 MiB of memory, and no network" in function["description"]
    assert "Each call begins anew" in function["description"]
    properties = function["parameters"]["properties"]
    assert list(properties) == ["lang", "code", "libraries"]
    assert function["parameters"]["required"] == ["lang", "code"]
    assert {"python", "bash"} <= set(properties["lang"]["enum"])
    assert "python 3." in properties["lang"]["description"]
    strict = convert_to_openai_tool(tool, strict=True)["function"]["parameters"]
    assert strict["required"] == ["lang", "code", "libraries"]


def test_the_model_is_told_the_own_limits(client):
    tool = run_code_tool(
        client=client, timeout=2.5, profile="large", languages=["py", "bash"]
    )
    assert "2.5 s, 1024 MiB" in tool.description
    assert tool.args["lang"]["enum"] == ["bash", "python"]
    assert "TIMEOUT" in call(tool, lang="bash", code="sleep 9").content
    refused = call(tool, lang="ruby", code="puts 1")
    assert refused.status == "error"
    assert "must be one of bash, python, not 'ruby'" in refused.content


def test_a_run(tool):
    message = call(tool, lang="python", code="print(6 * 7)\n'a value'")
    assert message.status == "success"
    assert message.content.startswith("OK: The program exited with 0")
    assert message.content.endswith("\n42\n'a value'")
    assert message.artifact["exit_code"] == 0
    json.dumps(message.artifact)
    result = result_of(message)
    assert result.stdout == "42\n" and result.ok
    assert result_of(message.artifact).run_id == message.artifact["run_id"]


def test_without_a_call_it_gives_the_text(tool):
    assert tool.invoke({"lang": "bash", "code": "echo hi"}).endswith("\nhi")


async def test_awaited(tool):
    texts = await asyncio.gather(
        *(acall(tool, lang="python", code=f"print({n} ** 2)") for n in range(8))
    )
    assert [m.content.split("\n")[1] for m in texts] == [str(n**2) for n in range(8)]


async def test_awaited_calls_take_no_thread_each(tool):
    await acall(tool, lang="bash", code="true")  # grpc.aio has one for itself
    before = threading.active_count()
    slow = [acall(tool, lang="bash", code="sleep 0.3; echo x") for _ in range(4)]
    gathered = asyncio.gather(*slow)
    await asyncio.sleep(0.1)
    assert threading.active_count() == before
    assert all(m.content.endswith("\nx") for m in await gathered)


def test_several_event_loops(tool):
    for n in range(3):
        message = asyncio.run(acall(tool, lang="bash", code=f"echo {n}"))
        assert message.content.endswith(f"\n{n}")


async def test_a_task_that_is_cancelled_ends_its_run(tool, client):
    args = {"lang": "bash", "code": "sleep 30; echo cancelled-run"}
    task = asyncio.create_task(acall(tool, **args))
    while not any(run.state == 2 for run in client.runs()):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(50):
        if not any(run.state in (1, 2) for run in client.runs()):
            return
        await asyncio.sleep(0.1)
    pytest.fail("it goes on")


def test_a_program_that_fails(tool):
    message = call(tool, lang="python", code="print('so far')\n1 / 0")
    assert message.status == "error"
    assert message.content.startswith("NONZERO_EXIT: ")
    assert "so far" in message.content and "ZeroDivisionError" in message.content
    assert result_of(message).error.name == "ZeroDivisionError"


def test_a_compiler_that_refuses(tool):
    message = call(tool, lang="cpp", code="int main() { return x; }")
    assert message.status == "error"
    assert message.content.startswith("COMPILE_ERROR")
    assert "not declared" in message.content


def test_a_program_that_prints_nothing(tool):
    message = call(tool, lang="python", code="x = 1")
    assert message.content.endswith("\n[It printed nothing.]")


def test_long_output_loses_its_middle(client):
    tool = run_code_tool(client=client, max_chars=2000)
    code = "import sys\nfor i in range(100_000): print(i)\nprint('x', file=sys.stderr)"
    message = call(tool, lang="python", code=code)
    assert 1500 < len(message.content) <= 2000
    assert "\n0\n1\n2\n" in message.content and "\n99999\n" in message.content
    assert "characters are cut here" in message.content
    assert message.content.endswith("stderr:\nx")
    assert len(result_of(message).stdout) == 588_890


def test_more_output_than_is_kept(client):
    tool = run_code_tool(client=client, max_chars=1000)
    message = call(tool, lang="python", code="print('a' * (2 << 20)); print('end')")
    assert len(message.content) <= 1000
    assert message.content.startswith("OUTPUT_LIMIT") or "end" in message.content


@pytest.mark.parametrize("size", [0, 1, 7, 50, 400])
def test_however_short_it_is(client, size):
    tool = run_code_tool(client=client, max_chars=size)
    message = call(tool, lang="python", code="for i in range(999): print(i)\n1/0")
    assert len(message.content) <= size


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"lang": "cobol", "code": "x"}, "there are: bash"),
        ({"lang": "python", "code": ""}, "code"),
        ({"lang": "python", "code": "\ud83d"}, "lone surrogate"),
        ({"lang": "python", "code": "a\0b"}, "code"),
        ({"lang": "python"}, "code: Field required"),
        ({"lang": "python", "code": 7}, "code: Input should be a valid string"),
        ({"lang": "python", "code": "1", "libraries": 7}, "libraries: Input should"),
        ({"lang": "python", "code": "1", "libraries": ["/etc/passwd"]}, "libraries"),
    ],
)
def test_a_bad_request_is_told(tool, args, words):
    message = call(tool, **args)
    assert message.status == "error"
    assert message.content.startswith("The program didn't run")
    assert words in message.content


@pytest.mark.parametrize("written", ["", None, []])
def test_no_libraries_however_they_are_written(tool, written):
    message = call(tool, lang="python", code="print(1)", libraries=written)
    assert message.status == "success"


def test_libraries(tool):
    message = call(tool, lang="python", code="import six; six.moves", libraries=["six"])
    skip_without_registry(message.content)
    assert message.status == "success", message.content
    again = call(tool, lang="python", code="import six; 1", libraries="six")
    assert again.status == "success" and "installed" not in again.content


def test_a_library_that_is_missing_is_named(tool):
    message = call(tool, lang="python", code="import cv2")
    assert '"libraries": ["opencv-python"]' in message.content


def test_files_and_environment(client):
    tool = run_code_tool(
        client=client,
        files={"data.csv": "a,b\n1,2\n"},
        env={"WHO": "me"},
        labels={"from": "tests"},
    )
    for lang, code in (
        ("bash", "cat data.csv; echo $WHO"),
        ("python", "import os; print(open('data.csv').read() + os.environ['WHO'])"),
    ):
        message = call(tool, lang=lang, code=code)
        assert message.content.endswith("a,b\n1,2\nme")
    assert client.runs(**{"from": "tests"})


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
SHOW = f"""import base64
class Figure:
    def _repr_png_(self):
        return base64.b64decode("{PNG}")
Figure()"""
WRITE = f"base64 -d <<< {PNG} > plot.png"
IMAGE = {"type": "image", "base64": PNG, "mime_type": "image/png"}


def test_figures_as_blocks(client):
    tool = run_code_tool(client=client, images=True)
    text, image = call(tool, lang="python", code=SHOW).content
    assert "image/png" in text["text"] and image == IMAGE
    text, image = call(tool, lang="bash", code=WRITE).content
    assert "file plot.png: 28 bytes" in text["text"] and image == IMAGE
    plain = call(tool, lang="bash", code="echo 1").content
    assert isinstance(plain, str) and "file" not in plain


def test_figures_beside_files(client):
    tool = run_code_tool(client=client, images=True, files={"f": "1"})
    code = f"""import base64, os
os.mkdir('plots')
for name in ('plots/a.png', '/tmp/b.png'):
    open(name, 'wb').write(base64.b64decode('{PNG}'))
int(open('f').read()) + 41"""
    text, *images = call(tool, lang="python", code=code).content
    assert "\n42\n" in text["text"]
    assert images == [IMAGE, IMAGE]


def test_who_makes_a_text_of_the_answer_gets_no_image(client):
    # As AgentExecutor calls it: without the id of a call.
    tool = run_code_tool(client=client, images=True)
    answer = tool.run({"lang": "python", "code": SHOW})
    assert isinstance(answer, str) and "image/png" in answer
    assert PNG not in answer
    assert asyncio.run(tool.arun({"lang": "python", "code": "1 + 1"})).endswith("\n2")


def test_no_figures_without_asking(tool):
    assert isinstance(call(tool, lang="python", code=SHOW).content, str)


def test_no_daemon(tmp_path, monkeypatch):
    client = sandglass.Client(f"unix:{tmp_path}/none", retry_for=0)
    tool = run_code_tool(client=client)
    assert tool.description.startswith("Runs a program")
    for message in (
        call(tool, lang="python", code="1"),
        asyncio.run(acall(tool, lang="python", code="1")),
    ):
        assert message.status == "error"
        assert "no such socket" in message.content
        assert "Tell the user that sandglassd has to run" in message.content
    tool.handle_tool_error = False
    with pytest.raises(ToolException) as caught:
        call(tool, lang="python", code="1")
    assert isinstance(caught.value.__cause__, sandglass.DaemonUnavailable)


def test_a_daemon_that_starts_later(make_daemon):
    daemon = make_daemon()
    daemon.stop()
    tool = run_code_tool(address=daemon.address)
    assert "enum" not in tool.args["lang"]
    daemon.start()
    assert call(tool, lang="python", code="print(1)").status == "success"
    assert "python" in tool.args["lang"]["enum"]


def test_state_of_a_thread(client):
    tool = run_code_tool(client=client, stateful=True)
    assert "stay from call to call" in tool.description
    assert "libraries" not in tool.args
    one, other = thread("one"), thread("other")
    call(tool, config=one, lang="python", code="x = 20; open('f', 'w').write('kept')")
    kept = call(tool, config=one, lang="python", code="x + 1")
    assert kept.content.endswith("\n21")
    assert call(tool, config=one, lang="bash", code="cat f").content.endswith("\nkept")
    assert "NameError" in call(tool, config=other, lang="python", code="x").content


def test_another_process_finds_the_thread(client):
    config = thread("found")
    call(
        run_code_tool(client=client, stateful=True),
        config=config,
        lang="python",
        code="y = 5",
    )
    again = run_code_tool(client=client, stateful=True)
    assert call(again, config=config, lang="python", code="y").content.endswith("\n5")
    large = run_code_tool(client=client, stateful=True, profile="large")
    assert "NameError" in call(large, config=config, lang="python", code="y").content


@pytest.mark.parametrize("helps", [True, False])
def test_the_idle_time_is_left_out_only_where_that_helps(helps):
    runner = Runner({}, {"idle_timeout": IDLE_TIMEOUT}, stateful=True)
    refused = sandglass.InvalidRequest("refused", code="INVALID_ARGUMENT")
    steps = runner._sandbox("7")
    assert next(steps).request.create.HasField("idle_timeout")
    assert not steps.throw(refused).request.create.HasField("idle_timeout")
    if helps:
        with pytest.raises(StopIteration):
            steps.send("a sandbox")
    else:
        with pytest.raises(sandglass.InvalidRequest):
            steps.throw(refused)
    again = next(runner._sandbox("7")).request.create
    assert again.HasField("idle_timeout") is not helps


@pytest.mark.parametrize(("given", "seconds"), [({}, 900), ({"idle_timeout": 60}, 60)])
def test_a_threads_sandbox_gives_way(client, given, seconds):
    tool = run_code_tool(client=client, stateful=True, labels={"idle": "yes"}, **given)
    call(tool, config=thread(f"idle{seconds}"), lang="python", code="1")
    (box,) = [
        box
        for box in client.sandboxes(idle="yes")
        if box.raw.idle_timeout.seconds == seconds
    ]
    assert box.raw.evictable


async def test_state_awaited(client):
    tool = run_code_tool(client=client, stateful=True)
    await acall(tool, lang="python", code="x = 1")
    assert (await acall(tool, lang="python", code="x + 1")).content.endswith("\n2")


def test_a_sandbox_that_ended_is_replaced_and_the_model_told(client):
    tool = run_code_tool(client=client, stateful=True, labels={"ends": "soon"})
    call(tool, lang="python", code="x = 1")
    (box,) = client.sandboxes(ends="soon")
    sandglass.Sandbox.connect(box.id, client=client).delete()
    message = call(tool, lang="python", code="print('anew')")
    assert "anew" in message.content
    assert "the earlier calls has ended" in message.content
    assert "has ended" not in call(tool, lang="python", code="1").content


def test_a_sandbox_of_ones_own(client):
    with client.sandbox() as box:
        box.run_code("x = 1")
        for given in (box, box.id):
            tool = run_code_tool(client=client, sandbox=given)
            assert call(tool, lang="python", code="x").content.endswith("\n1")
        assert run_code_tool(sandbox=box)._client.address == client.address
    gone = call(tool, lang="python", code="x")
    assert gone.status == "error"
    assert "The sandbox is gone" in gone.content


async def test_an_asynchronous_sandbox(daemon):
    async with sandglass.AsyncClient(daemon.address) as client:
        async with client.sandbox() as box:
            await box.run_code("x = 7")
            tool = run_code_tool(sandbox=box)
            message = await acall(tool, lang="python", code="x")
            assert message.content.endswith("\n7")


def test_libraries_of_a_sandbox(client):
    tool = run_code_tool(client=client, stateful=True, libraries=["six"])
    assert "These libraries can be imported: six." in tool.description
    message = call(tool, lang="python", code="import six; six.__name__")
    skip_without_registry(message.content)
    assert message.content.endswith("'six'") or "'six'" in message.content
    missing = call(tool, lang="python", code="import cv2")
    assert "chosen where this tool was set up: six" in missing.content


@pytest.mark.parametrize(
    "options",
    [
        {"stateful": True, "sandbox": "x"},
        {"stateful": True, "files": {"a": "b"}},
        {"sandbox": "x", "profile": "large"},
        {"idle_timeout": 60},
        {"approvals": "sometimes"},
    ],
)
def test_options_that_contradict(client, options):
    with pytest.raises(ValueError):
        run_code_tool(client=client, **options)


def test_it_is_typed(tool):
    assert isinstance(tool, RunCodeTool)
    assert result_of({}) is None
