"""Whole conversations: agents of LangChain, a model of few words over HTTP, and a
real daemon. What is looked at is what came back to the model."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import skip_without_registry
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from mock_model import MockModel, call
from sandglass.langchain import result_of, run_code_tool

EXAMPLES = pathlib.Path(__file__).parents[3] / "client" / "examples"

PI = """import random
random.seed(1)
n = 1_000_000
hits = sum(random.random() ** 2 + random.random() ** 2 <= 1 for _ in range(n))
print("pi is about", 4 * hits / n)"""
FACTORIAL = """def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)
print(factorial(20))"""
FIBONACCI = """a, b = 0, 1
for _ in range(20):
    print(a, end=" ")
    a, b = b, a + b"""
# Each answer of the model, and what its program has to print.
FOUNDING = [
    ("Write python code to calculate Pi by Monte Carlo method then run it.", PI, 3.14),
    (
        "Write python code to calculate the factorial of a number then run it.",
        FACTORIAL,
        2432902008176640000,
    ),
    (
        "Write python code to calculate the Fibonacci sequence then run it.",
        FIBONACCI,
        "0 1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181",
    ),
    ("Calculate the sum of the first 10000 numbers.", "sum(range(1, 10001))", 50005000),
]


def python(code):
    return call("run_code", lang="python", code=code)


def model_of(mock, **options):
    return ChatOpenAI(base_url=mock.url, api_key="none", model="mock", **options)


def run_example(name, daemon, mock, *questions):
    return run_program([EXAMPLES / name, *questions], daemon, mock)


def run_program(arguments, daemon, mock):
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": mock.url,
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": "mock",
        "SANDGLASS_ADDRESS": daemon.address,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_founding_conversations(daemon):
    script = []
    for _, code, _ in FOUNDING:
        script += [python(code), "There you are."]
    with MockModel(script) as mock:
        done = run_example("langchain_founding.py", daemon, mock)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("There you are.") >= len(FOUNDING)
    assert len(mock.requests) == 2 * len(FOUNDING)
    for i, (question, _, wanted) in enumerate(FOUNDING):
        asked, answered = mock.requests[2 * i : 2 * i + 2]
        assert asked["messages"][-1]["content"] == question
        assert asked["stream"], "an AgentExecutor streams"
        assert asked["tools"][0]["function"]["name"] == "run_code"
        last = answered["messages"][-1]
        assert last["role"] == "tool"
        assert last["content"].startswith("OK: ")
        if question.startswith("Write python code to calculate Pi"):
            pi = re.search(r"about (\d\.\d+)", last["content"])
            assert float(pi[1]) == pytest.approx(wanted, abs=0.01)
        else:
            assert str(wanted) in last["content"]


def documented(number):
    page = EXAMPLES.parent / "python" / "AGENTS.md"
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[number]


def test_the_program_of_the_documentation(daemon):
    program = documented(0)
    script = [
        python("sum(range(1, 10001))"),
        lambda messages: messages[-1]["content"].split("\n")[1],
    ]
    with MockModel(script) as mock:
        done = run_program(["-c", program], daemon, mock)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "50005000\n"


def test_the_deep_program_of_the_documentation(daemon):
    script = [
        call("write_file", file_path="/workspace/hello.py", content="print('hi')"),
        call("execute", command="cat names.txt; python hello.py"),
        "Done.",
    ]
    with MockModel(script) as mock:
        done = run_program(["-c", documented(1)], daemon, mock)
    assert done.returncode == 0, done.stderr
    assert mock.tool_results[-1].startswith("Ada\nGrace\nhi\n")
    assert "content=b\"print('hi')\"" in done.stdout


def test_the_founding_example_with_libraries(daemon):
    code = "import six\nprint(six.text_type('six is here'))"
    step = call("run_code", lang="python", code=code, libraries=["six"])
    with MockModel([step, "Done."]) as mock:
        done = run_example("langchain_founding.py", daemon, mock, "Use six.")
    assert done.returncode == 0, done.stderr
    (result,) = mock.tool_results
    skip_without_registry(result)
    assert "six is here" in result


def test_the_agent_example_keeps_state(daemon):
    script = [
        python(PI),
        "About 3.14.",
        python("print('before:', n); n *= 10; n"),
        "Ten times as many.",
    ]
    with MockModel(script) as mock:
        done = run_example("langchain_agent.py", daemon, mock)
    assert done.returncode == 0, done.stderr
    assert "Ten times as many." in done.stdout
    assert "before: 1000000\n10000000" in mock.tool_results[-1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
async def test_several_calls_at_once(client, streaming, awaited):
    several = [
        python("print('one')"),
        call("run_code", lang="bash", code="echo two"),
        python("1 / 0"),
    ]
    with MockModel([several, "Done."]) as mock:
        model = model_of(mock, streaming=streaming)
        agent = create_agent(model, [run_code_tool(client=client)])
        asked = {"messages": [("user", "Do three things.")]}
        if awaited:
            state = await agent.ainvoke(asked)
        else:
            state = agent.invoke(asked)
    assert mock.requests[0].get("stream", False) == streaming
    assert [text.split(":")[0] for text in mock.tool_results] == [
        "OK",
        "OK",
        "NONZERO_EXIT",
    ]
    assert "ZeroDivisionError" in mock.tool_results[2]
    tools = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert [m.status for m in tools] == ["success", "success", "error"]
    assert result_of(tools[1]).stdout == "two\n"
    assert state["messages"][-1].content == "Done."


def test_the_agent_goes_on_after_a_bad_call(client):
    script = [
        call("run_code", lang="cobol", code="DISPLAY 1."),
        call("run_code", code="print(1)"),
        python("print('at last')"),
        "Done.",
    ]
    with MockModel(script) as mock:
        agent = create_agent(model_of(mock), [run_code_tool(client=client)])
        agent.invoke({"messages": [("user", "Go.")]})
    cobol, missing, good = mock.tool_results
    assert "which this daemon does not offer" in cobol
    assert "lang: Field required" in missing
    assert "at last" in good


def test_a_checkpoint_carries_the_result(client):
    config = {"configurable": {"thread_id": "checkpointed"}}
    with MockModel([python("print('kept')"), "Done."]) as mock:
        agent = create_agent(
            model_of(mock), [run_code_tool(client=client)], checkpointer=InMemorySaver()
        )
        agent.invoke({"messages": [("user", "Go.")]}, config)
        messages = agent.get_state(config).values["messages"]
    (tool,) = [m for m in messages if isinstance(m, ToolMessage)]
    assert result_of(tool).stdout == "kept\n"


async def test_threads_have_sandboxes_of_their_own(client):
    def of(thread):
        return {"configurable": {"thread_id": thread}}

    script = [python("x = 1"), "Done.", python("x"), "Done.", python("x"), "Done."]
    with MockModel(script) as mock:
        tools = [run_code_tool(client=client, stateful=True)]
        agent = create_agent(model_of(mock), tools, checkpointer=InMemorySaver())
        asked = {"messages": [("user", "Go.")]}
        await agent.ainvoke(asked, of("a"))
        await agent.ainvoke(asked, of("b"))
        assert "NameError" in mock.tool_results[-1]
        last = (await agent.ainvoke(asked, of("a")))["messages"][-1]
        assert isinstance(last, AIMessage)
        assert mock.tool_results[-1].endswith("\n1")


def test_figures_reach_a_model_that_can_see(client):
    code = """import base64
class Figure:
    def _repr_png_(self):
        return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(20)
Figure()"""
    with MockModel([python(code), "Done."]) as mock:
        tools = [run_code_tool(client=client, images=True)]
        agent = create_agent(model_of(mock), tools)
        agent.invoke({"messages": [("user", "Draw.")]})
    content = mock.requests[1]["messages"][-1]["content"]
    assert content[0]["type"] == "text"
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,iVBO")
