"""Programs that a person has to approve: as the model sees it, and as LangChain's
people in the loop do."""

import asyncio

import pytest
import sandglass
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from mock_model import MockModel, call
from sandglass.langchain import result_of, run_code_tool

EVAL = "print('it is', eval('6 * 7'))"
RULES = {
    "description": "asks before eval",
    "languages": ["python", "bash"],
    "rules": [
        {
            "id": "ask-eval",
            "severity": "require_approval",
            "languages": ["python"],
            "calls": ["eval"],
        },
        {
            "id": "no-sockets",
            "severity": "deny",
            "languages": ["python"],
            "modules": ["socket"],
        },
    ],
}
PROFILES = {
    "ask": {**RULES, "approval": {"self_approval": True, "expires_after": "10m"}},
    # Even root can't approve its own runs there.
    "ask-another": {**RULES, "approval": {"expires_after": "10m"}},
}
CONFIG = {"configurable": {"thread_id": "1"}}


@pytest.fixture(scope="module")
def careful():
    from conftest import Daemon

    daemon = Daemon(profiles=PROFILES)
    yield daemon
    daemon.remove()


@pytest.fixture
def asks(careful):
    with sandglass.Client(careful.address) as client:
        yield client
        # No approval goes on to the next test.
        for approval in client.approvals():
            client.deny(approval.approval_id)


def invoke(tool, code):
    args = {"lang": "python", "code": code}
    return tool.invoke(
        {"type": "tool_call", "name": "run_code", "id": "1", "args": args}
    )


def python(code):
    return call("run_code", lang="python", code=code)


class Conversation:
    """An agent that has asked for `code`, up to the first interrupt."""

    def __init__(self, tool, *code, middleware=()):
        self.mock = MockModel([[python(each) for each in code], "Done."])
        self.mock.__enter__()
        model = ChatOpenAI(base_url=self.mock.url, api_key="none", model="mock")
        self.agent = create_agent(
            model, [tool], checkpointer=InMemorySaver(), middleware=middleware
        )
        self.state = self.agent.invoke({"messages": [("user", "Go.")]}, CONFIG)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mock.__exit__()

    @property
    def asked(self):
        """What the person is asked."""
        return [interrupt.value for interrupt in self.state["__interrupt__"]]

    def decide(self, *decisions, resume=None):
        """The tools' results afterwards."""
        resume = {"decisions": list(decisions)} if resume is None else resume
        self.state = self.agent.invoke(Command(resume=resume), CONFIG)
        if "__interrupt__" in self.state:
            return None
        return [m for m in self.state["messages"] if isinstance(m, ToolMessage)]


def test_the_model_hears_that_it_waits(asks):
    tool = run_code_tool(client=asks, profile="ask")
    message = invoke(tool, EVAL)
    assert message.status == "error"
    assert message.content.startswith("NEEDS_APPROVAL: A person has to approve")
    assert "rule ask-eval: The program uses eval." in message.content
    approval_id = message.artifact["approval_id"]
    assert f"sandglass approvals approve {approval_id}" in message.content
    assert "call this tool again with the same arguments" in message.content
    assert invoke(tool, EVAL).artifact["approval_id"] == approval_id


def test_called_again_after_an_approver_said_yes(asks):
    tool = run_code_tool(client=asks, profile="ask")
    asks.approve(invoke(tool, EVAL).artifact["approval_id"])
    again = invoke(tool, EVAL)
    assert again.status == "success" and "it is 42" in again.content
    assert not asks.approvals(), "nobody is asked about what has run"
    # It was for one run.
    assert "NEEDS_APPROVAL" in invoke(tool, EVAL).content


def test_called_again_with_another_program(asks):
    tool = run_code_tool(client=asks, profile="ask")
    asks.approve(invoke(tool, EVAL).artifact["approval_id"])
    assert "NEEDS_APPROVAL" in invoke(tool, EVAL + "\n").content
    other = run_code_tool(client=asks, profile="ask", timeout=3)
    assert "NEEDS_APPROVAL" in invoke(other, EVAL).content, "other limits"
    assert "it is 42" in invoke(tool, EVAL).content, "it is still good for this one"


def test_a_rule_that_denies(asks):
    message = invoke(run_code_tool(client=asks, profile="ask"), "import socket")
    assert message.status == "error"
    assert message.content.startswith("DENIED: ")
    assert "no-sockets" in message.content


@pytest.mark.parametrize("stateful", [False, True])
def test_an_interrupt_and_a_yes(asks, stateful):
    tool = run_code_tool(
        client=asks, profile="ask", approvals="interrupt", stateful=stateful
    )
    with Conversation(tool, EVAL) as talk:
        (request,) = talk.asked
        (action,) = request["action_requests"]
        assert action["name"] == "run_code"
        assert action["args"] == {"lang": "python", "code": EVAL}
        assert "The program uses eval. (rule ask-eval)" in action["description"]
        assert request["review_configs"] == [
            {
                "action_name": "run_code",
                "allowed_decisions": ["approve", "edit", "reject", "respond"],
            }
        ]
        (waits,) = asks.approvals()
        assert waits.approval_id in action["description"]
        (message,) = talk.decide({"type": "approve"})
        assert message.status == "success" and "it is 42" in message.content
        assert "it is 42" in talk.mock.tool_results[0]
        assert result_of(message).raw.approved.approval_id == waits.approval_id
    assert not asks.approvals()


def test_the_decision_alone_as_an_answer(asks):
    # As to HumanInTheLoopMiddleware's per-call interrupts.
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (message,) = talk.decide(resume={"type": "approve"})
        assert "it is 42" in message.content


def test_a_no(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (message,) = talk.decide({"type": "reject", "message": "Use ast instead."})
    assert message.status == "error"
    assert "didn't let the program run" in message.content
    assert "Use ast instead." in message.content
    assert not asks.approvals(), "it waits no more"


def test_an_answer_in_its_place(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (message,) = talk.decide({"type": "respond", "message": "It is 42, believe me"})
    assert message.status == "success"
    assert message.content == "It is 42, believe me"
    assert message.artifact is None


def edit(code):
    args = {"lang": "python", "code": code}
    return {"type": "edit", "edited_action": {"name": "run_code", "args": args}}


def test_an_edit(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (message,) = talk.decide(edit("print('edited')"))
    assert message.status == "success"
    assert "\nedited\n" in message.content
    assert "A person changed the program" in message.content
    assert not asks.approvals()


def test_an_edit_that_has_to_be_approved_itself(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        changed = "print('now', eval('7 * 7'))"
        assert talk.decide(edit(changed)) is None
        (request,) = talk.asked
        assert request["action_requests"][0]["args"]["code"] == changed
        (message,) = talk.decide({"type": "approve"})
        assert "now 49" in message.content
        assert "A person changed the program" in message.content
    assert not asks.approvals()


def test_what_is_no_decision(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        for wrong in ("yes", {"type": "maybe"}, {"decisions": []}):
            with pytest.raises(ValueError, match="decision"):
                talk.decide(resume=wrong)


def test_two_calls_at_once(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL, "print('no eval')", "print(eval('1'))") as talk:
        answers = {}
        for interrupt in talk.state["__interrupt__"]:
            code = interrupt.value["action_requests"][0]["args"]["code"]
            kind = "approve" if code == EVAL else "reject"
            answers[interrupt.id] = {"decisions": [{"type": kind}]}
        assert len(answers) == 2
        one, plain, other = talk.decide(resume=answers)
    assert "it is 42" in one.content
    assert "no eval" in plain.content
    assert "didn't let the program run" in other.content


def test_somebody_else_approved_meanwhile(asks):
    # The graph begins the call anew when it goes on.
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (waits,) = asks.approvals()
        asks.approve(waits.approval_id)
        (message,) = talk.decide({"type": "approve"})
        assert "it is 42" in message.content
    assert not asks.approvals()


def test_a_process_that_may_not_approve(asks):
    tool = run_code_tool(client=asks, profile="ask-another", approvals="interrupt")
    with Conversation(tool, EVAL) as talk:
        (message,) = talk.decide({"type": "approve"})
    assert message.status == "error"
    assert "this process may not approve" in message.content
    assert "sandglass approvals approve appr-" in message.content


async def test_awaited(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with MockModel([python(EVAL), "Done."]) as mock:
        model = ChatOpenAI(base_url=mock.url, api_key="none", model="mock")
        agent = create_agent(model, [tool], checkpointer=InMemorySaver())
        state = await agent.ainvoke({"messages": [("user", "Go.")]}, CONFIG)
        assert "__interrupt__" in state
        resume = Command(resume={"decisions": [{"type": "approve"}]})
        await asyncio.wait_for(agent.ainvoke(resume, CONFIG), 30)
        assert "it is 42" in mock.tool_results[0]


def test_an_interrupt_outside_of_a_graph(asks):
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with pytest.raises(RuntimeError, match="LangGraph agent"):
        invoke(tool, EVAL)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("kind", ["approve", "reject", "edit"])
def test_under_the_plain_middleware(asks, mode, kind):
    # It asks about every call, whatever the daemon's rules are.
    middleware = HumanInTheLoopMiddleware(
        interrupt_on={"run_code": True}, interrupt_mode=mode
    )
    tool = run_code_tool(client=asks)
    code = "print('first')"
    with Conversation(tool, code, middleware=[middleware]) as talk:
        decision = edit("print('second')") if kind == "edit" else {"type": kind}
        resume = decision if mode == "per_call" else {"decisions": [decision]}
        (message,) = talk.decide(resume=resume)
    if kind == "reject":
        assert message.status == "error" and "first" not in message.content
        return
    assert message.status == "success"
    assert ("second" if kind == "edit" else "first") in message.content


def test_the_middleware_and_rules_together(asks):
    # Twice asked: about the call, and about what the rule found.
    middleware = HumanInTheLoopMiddleware(interrupt_on={"run_code": True})
    tool = run_code_tool(client=asks, profile="ask", approvals="interrupt")
    with Conversation(tool, EVAL, middleware=[middleware]) as talk:
        assert talk.decide({"type": "approve"}) is None
        (request,) = talk.asked
        assert "ask-eval" in request["action_requests"][0]["description"]
        (message,) = talk.decide({"type": "approve"})
        assert "it is 42" in message.content
