"""Agents of deepagents with a model over HTTP, and its command line's provider."""

import os
import pathlib
import subprocess
import sys

import pytest
import sandglass
from deepagents import create_deep_agent
from langchain_openai import ChatOpenAI
from mock_model import MockModel, call
from sandglass.deepagents import SandglassBackend, ThreadBackend

EXAMPLES = pathlib.Path(__file__).parents[3] / "client" / "examples"
SCRIPT = "for name in open('/workspace/names.txt'): print('Hello,', name.strip())\n"


def test_the_example(daemon):
    script = [
        call("write_file", file_path="/workspace/hello.py", content=SCRIPT),
        call("execute", command="python /workspace/hello.py"),
        "It says hello to Ada and Grace.",
    ]
    with MockModel(script) as model:
        done = subprocess.run(
            [sys.executable, EXAMPLES / "deepagents_agent.py"],
            env={
                **os.environ,
                "SANDGLASS_ADDRESS": daemon.address,
                "OPENAI_BASE_URL": model.url,
                "OPENAI_API_KEY": "none",
                "OPENAI_MODEL": "mock",
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "Hello, Ada\nHello, Grace" in model.tool_results[-1]
    assert done.stdout == (
        "It says hello to Ada and Grace.\n"
        f"/workspace/hello.py {len(SCRIPT)} bytes\n"
        "/workspace/output.txt file_not_found\n"
    )


def ask(agent, text, **config):
    asked = {"messages": [{"role": "user", "content": text}]}
    return agent.invoke(asked, config)["messages"][-1].content


def test_all_tools_of_an_agent(client):
    script = [
        call("write_file", file_path="/workspace/a.txt", content="one\ntwo\n"),
        call(
            "edit_file", file_path="/workspace/a.txt", old_string="two", new_string="2"
        ),
        call("read_file", file_path="/workspace/a.txt"),
        call("ls", path="/workspace"),
        call("glob", pattern="*.txt", path="/workspace"),
        call("grep", pattern="one", path="/workspace", output_mode="content"),
        call("execute", command="wc -l < /workspace/a.txt; exit 3"),
        call("read_file", file_path="/workspace/none"),
        "done",
    ]
    with MockModel(script) as model, SandglassBackend.create(client=client) as backend:
        chat = ChatOpenAI(base_url=model.url, api_key="none", model="mock")
        agent = create_deep_agent(model=chat, backend=backend)
        assert ask(agent, "go") == "done"
        write, edit, read, ls, glob, grep, execute, none = model.tool_results
    assert "/workspace/a.txt" in write and "/workspace/a.txt" in edit
    assert "one" in read and "2" in read and "two" not in read
    assert "/workspace/a.txt" in ls and "/workspace/a.txt" in glob
    assert "one" in grep
    assert "2\n" in execute and "exit code 3" in execute
    assert "not found" in none


def test_much_output_goes_to_a_file_that_can_be_read(client):
    def follow(messages):
        (text,) = [m["content"] for m in messages if m["role"] == "tool"]
        path = text[text.index("/large_tool_results") :].split()[0].strip("`'\".")
        return call("read_file", file_path=path, offset=0, limit=3)

    script = [call("execute", command="seq 1 100000"), follow, "done"]
    with MockModel(script) as model, SandglassBackend.create(client=client) as backend:
        chat = ChatOpenAI(base_url=model.url, api_key="none", model="mock")
        agent = create_deep_agent(model=chat, backend=backend)
        assert ask(agent, "go") == "done"
        first, second = model.tool_results
    assert len(first) < 20_000
    assert "2" in second


def test_threads_have_sandboxes_of_their_own(daemon, client):
    backend = ThreadBackend(address=daemon.address)
    script = [
        call("execute", command="echo mine > f; cat f"),
        "done",
        call("execute", command="cat f"),
        "done",
        call("execute", command="cat f"),
        "done",
    ]
    with MockModel(script) as model:
        chat = ChatOpenAI(base_url=model.url, api_key="none", model="mock")
        agent = create_deep_agent(model=chat, backend=backend)
        seen = []
        for thread in ("a", "b", "a"):
            ask(agent, "go", configurable={"thread_id": thread})
            seen.append(model.tool_results[-1])
    assert seen[0].startswith("mine\n") and seen[2].startswith("mine\n")
    assert "No such file" in seen[1]
    for info in client.sandboxes():
        if "deepagents-thread" in info.labels:
            sandglass.Sandbox.connect(info.id, client=client).delete()
    backend.close()


def test_the_provider_of_the_command_line(daemon, client, monkeypatch):
    from deepagents_code.integrations import sandbox_provider, sandbox_registry

    monkeypatch.setenv("SANDGLASS_ADDRESS", daemon.address)
    registry = sandbox_registry.SandboxRegistry.load(pathlib.Path("/nonexistent"))
    assert "sandglass" in registry.available_providers()
    entry = registry._discover_entry_points()["sandglass"]
    provider = entry.load()()
    assert isinstance(provider, sandbox_provider.SandboxProvider)
    assert provider.metadata.working_dir == "/workspace"
    backend = provider.get_or_create(labels={"by": "provider"}, idle_timeout=60)
    assert backend.execute("pwd").output == "/workspace\n"
    same = provider.get_or_create(sandbox_id=backend.id)
    assert same.id == backend.id
    provider.delete(sandbox_id=backend.id)
    provider.delete(sandbox_id=backend.id)
    assert client.sandboxes(by="provider") == []
    with pytest.raises(sandbox_provider.SandboxNotFoundError, match="deleted"):
        provider.get_or_create(sandbox_id=backend.id)
    with pytest.raises(sandbox_provider.SandboxError, match="no daemon at"):
        provider.get_or_create(address="unix:/nonexistent/sock")
