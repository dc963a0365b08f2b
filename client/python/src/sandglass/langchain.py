"""A tool for LangChain's agents that runs code in sandboxes of sandglassd.

>>> from langchain.agents import create_agent
>>> from sandglass.langchain import run_code_tool
>>> agent = create_agent("openai:gpt-5", tools=[run_code_tool()])

It works in create_agent, in LangGraph's ToolNode, and in the AgentExecutor of
langchain-classic; awaited, it uses grpc.aio, and no thread for each call.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from sandglass import _errors, _session
from sandglass._agent_run import (
    IDLE_TIMEOUT,
    Answer,
    Ask,
    Call,
    Decision,
    Runner,
    ToolFailed,
)
from sandglass._convert import Limits, Seconds
from sandglass._endpoint import Endpoint
from sandglass._op import Steps
from sandglass._run import Content, RunOptions, RunResult
from sandglass._session import SandboxOptions
from sandglass._tool_words import Offer
from sandglass.aio import AsyncClient, AsyncSandbox
from sandglass.client import Client, Sandbox

_MOST_IMAGES = 4
_MOST_IMAGE_BYTES = 4 << 20
_SHOWN = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}


def run_code_tool(
    *,
    client: Client | None = None,
    address: str | Endpoint | None = None,
    name: str = "run_code",
    languages: Sequence[str] = (),
    profile: str = "",
    timeout: Seconds | None = None,
    limits: Limits | None = None,
    libraries: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    files: Mapping[str, Content] | None = None,
    labels: Mapping[str, str] | None = None,
    stateful: bool = False,
    idle_timeout: Seconds | None = None,
    sandbox: Sandbox | AsyncSandbox | str | None = None,
    approvals: Literal["report", "interrupt"] = "report",
    images: bool = False,
    max_chars: int = 20_000,
) -> RunCodeTool:
    """The tool `run_code(lang, code, libraries)`.

    Each call has a jail of its own, and leaves nothing. With `stateful` each
    conversation (LangGraph's `thread_id`; without one, this tool) has a sandbox
    that keeps variables and files from call to call, and ends when it isn't used
    for `idle_timeout` seconds (900 without, less where the operator allows less),
    or gives way when there are as many as there may be and it was longest not
    used; `sandbox` is one that is there already, or its id.

    `languages` are those that the model is offered; without, all that the daemon
    and the profile have. `libraries` are there in each call. What the model names
    besides comes with its call, except in a sandbox, which has just these. `files`
    are written before each run, and are not for sandboxes, which have
    `Sandbox.files`.

    The model gets a report of at most `max_chars` characters, with `images` also
    figures as content blocks, if it can see; not in an AgentExecutor, which would
    make a text of them. The message's artifact is the whole
    result: see `result_of`. Its status is "error" when the program didn't end
    well. A call that can't be carried out, even for want of a daemon, is told to
    the model; with `handle_tool_error = False` on the tool it raises
    ToolException, whose cause is the `SandglassError`.

    `approvals` says what comes of a program that the profile wants approved: with
    "report" the model hears that it waits; with "interrupt" the graph stops with
    the interrupt of LangChain's HumanInTheLoopMiddleware, and goes on with its
    decisions (approve, edit, reject, respond).
    """
    if stateful and sandbox is not None:
        raise ValueError("give stateful or sandbox, not both: a sandbox keeps state")
    keeps_state = stateful or sandbox is not None
    if keeps_state and files is not None:
        raise ValueError("files are not for sandboxes: write them with sandbox.files")
    if idle_timeout is not None and not stateful:
        raise ValueError("idle_timeout is for the sandboxes of stateful")
    if sandbox is not None and (profile or libraries or env or limits or labels):
        raise ValueError(
            "profile, libraries, env, limits and labels are the sandbox's own: give "
            "them where it is made"
        )
    if approvals not in ("report", "interrupt"):
        raise ValueError(f'approvals is "report" or "interrupt", not {approvals!r}')
    if client is None and address is None and not isinstance(sandbox, str | None):
        address = sandbox.client._connection.endpoint
    client = client or Client(address)
    run_options: RunOptions = {} if timeout is None else {"timeout": timeout}
    sandbox_options: SandboxOptions = {}
    common = {"profile": profile, "env": env, "limits": limits, "labels": labels}
    given: dict[str, Any] = {key: value for key, value in common.items() if value}
    if keeps_state:
        given["libraries"] = list(libraries)
        sandbox_options.update(cast(SandboxOptions, given))
        sandbox_options["evictable"] = True
        sandbox_options["idle_timeout"] = (
            IDLE_TIMEOUT if idle_timeout is None else idle_timeout
        )
    else:
        given |= {"files": files} if files else {}
        run_options.update(cast(RunOptions, given))
    runner = Runner(
        run_options,
        sandbox_options,
        libraries=tuple(libraries),
        languages=tuple(language.lower() for language in languages),
        sandbox=None if sandbox is None else lambda: _id_of(sandbox),
        stateful=stateful,
        images=images,
        max_chars=max_chars,
    )
    return RunCodeTool(client, runner, name=name, interrupts=approvals == "interrupt")


def result_of(message: ToolMessage | Mapping[str, Any]) -> RunResult | None:
    """The whole result behind a ToolMessage of this tool, or behind its artifact;
    None when nothing ran."""
    artifact = message.artifact if isinstance(message, ToolMessage) else message
    if not isinstance(artifact, Mapping) or "run" not in artifact:
        return None
    from sandglass.v1 import run_pb2

    data = base64.b64decode(artifact["run"])
    return RunResult(run_pb2.RunCodeResponse.FromString(data))


class RunCodeTool(BaseTool):
    """Made by `run_code_tool`."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _client: Client = PrivateAttr()
    _async_client: AsyncClient = PrivateAttr()
    _runner: Runner = PrivateAttr()
    _interrupts: bool = PrivateAttr()
    _offer: Offer | None = PrivateAttr(default=None)

    def __init__(
        self, client: Client, runner: Runner, *, name: str, interrupts: bool
    ) -> None:
        offer = Offer.unknown(runner)
        super().__init__(
            name=name,
            description=offer.description,
            args_schema=_schema(name, offer),
            handle_tool_error=True,
            handle_validation_error=_validation_words,
        )
        self._client = client
        self._async_client = AsyncClient(
            client._connection.endpoint, retry_for=client._connection.retry_for
        )
        self._runner = runner
        self._interrupts = interrupts
        try:
            # Without waiting: the daemon may be started later.
            with Client(client._connection.endpoint, retry_for=0) as asked:
                info = asked._connection.call(_session.server_info(), deadline=2)
            self._take(Offer.of(runner, info))
        except _errors.SandglassError:
            pass

    def _take(self, offer: Offer) -> None:
        self._offer = offer
        if offer.languages and self._runner.home not in offer.languages:
            self._runner.home = offer.languages[0]
        self.description = offer.description
        self.args_schema = _schema(self.name, offer)

    def _steps(self, call: Call, ask: Ask | None) -> Steps[Answer]:
        if self._offer is None:
            info = yield _session.server_info()
            self._take(Offer.of(self._runner, info))
        if self._offer is not None and self._runner.languages:
            self._offer.check(call.lang)
        return (yield from self._runner.steps(call, ask))

    def _begin(
        self,
        lang: str,
        code: str,
        libraries: Sequence[str] | None,
        config: RunnableConfig | None,
    ) -> Steps[Answer]:
        thread = (config or {}).get("configurable", {}).get("thread_id")
        call = Call(lang, code, tuple(libraries or ()), str(thread or ""))
        ask = self._ask if self._interrupts else None
        return self._runner.explained(self._steps(call, ask))

    def _ask(self, call: Call, why: str) -> Decision:
        from langgraph.types import interrupt

        args: dict[str, Any] = {"lang": call.lang, "code": call.code}
        if call.libraries:
            args["libraries"] = list(call.libraries)
        decisions = ["approve", "edit", "reject", "respond"]
        try:
            answer = interrupt(
                {
                    "action_requests": [
                        {"name": self.name, "args": args, "description": why}
                    ],
                    "review_configs": [
                        {"action_name": self.name, "allowed_decisions": decisions}
                    ],
                }
            )
        except (RuntimeError, KeyError):  # what LangGraph says outside of a graph
            raise RuntimeError(
                'approvals="interrupt" works in a LangGraph agent alone, for example '
                "create_agent(…, checkpointer=InMemorySaver())"
            ) from None
        # Its batched form has a list, its per-call form the decision itself.
        if isinstance(answer, Mapping) and "decisions" in answer:
            if len(answer["decisions"]) != 1:
                raise ValueError(f"one decision is wanted, not {answer['decisions']!r}")
            answer = answer["decisions"][0]
        if not isinstance(answer, Mapping) or answer.get("type") not in decisions:
            raise ValueError(f"{answer!r} is no decision")
        return cast(Decision, dict(answer))

    def _run(
        self,
        lang: str,
        code: str,
        libraries: Sequence[str] | None = None,
        *,
        config: RunnableConfig,
    ) -> tuple[Any, Any]:
        steps = self._begin(lang, code, libraries, config)
        try:
            return self._told(self._client._connection.drive(steps))
        except ToolFailed as error:
            raise ToolException(str(error)) from error.__cause__

    async def _arun(
        self,
        lang: str,
        code: str,
        libraries: Sequence[str] | None = None,
        *,
        config: RunnableConfig,
    ) -> tuple[Any, Any]:
        steps = self._begin(lang, code, libraries, config)
        try:
            return self._told(await self._async_client._connection.drive(steps))
        except ToolFailed as error:
            raise ToolException(str(error)) from error.__cause__

    def _told(self, answer: Answer) -> tuple[Any, Any]:
        result = answer.result
        if result is None:
            return answer.text, None
        content: Any = answer.text
        if self._runner.images and (blocks := _image_blocks(result)):
            content = [{"type": "text", "text": answer.text}, *blocks]
        return content, _artifact(result)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        output = _with_status(super().run(*args, **kwargs))
        return output if kwargs.get("tool_call_id") else _text_of(output)

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        output = _with_status(await super().arun(*args, **kwargs))
        return output if kwargs.get("tool_call_id") else _text_of(output)


def _id_of(sandbox: Sandbox | AsyncSandbox | str) -> str:
    return sandbox if isinstance(sandbox, str) else sandbox.id


def _with_status(output: Any) -> Any:
    artifact = output.artifact if isinstance(output, ToolMessage) else None
    if isinstance(artifact, dict) and artifact.get("outcome", "OK") != "OK":
        output.status = "error"
    return output


def _text_of(output: Any) -> Any:
    """Without a call's id there is no message that could carry images: who asks
    makes a text of what comes, base64 and all."""
    if not isinstance(output, list):
        return output
    return "\n".join(block["text"] for block in output if block["type"] == "text")


def _artifact(result: RunResult) -> dict[str, Any]:
    # Checkpointers and tracers carry JSON, and nothing that they don't know.
    return {
        "outcome": str(result.outcome),
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "run_id": result.run_id,
        "approval_id": result.approval_id,
        "run": base64.b64encode(result.raw.SerializeToString()).decode(),
    }


def _image_blocks(result: RunResult) -> list[dict[str, Any]]:
    found = [data for rich in result.results for data in rich.data.values()]
    found += [file.content for file in result.files.values()]
    blocks: list[dict[str, Any]] = []
    for data in found:
        for magic, kind in _SHOWN.items():
            if data.startswith(magic) and len(data) <= _MOST_IMAGE_BYTES:
                text = base64.b64encode(data).decode()
                blocks.append({"type": "image", "base64": text, "mime_type": kind})
    return blocks[:_MOST_IMAGES]


def _validation_words(error: Any) -> str:
    lines = ["The program didn't run: the tool's arguments are wrong."]
    if isinstance(error, ValidationError):
        for detail in error.errors():
            where = ".".join(map(str, detail["loc"]))
            lines.append(f"{where}: {detail['msg']}")
    return "\n".join(lines)


def _as_list(value: Any) -> Any:
    # Models write one name, or null, where a list is wanted.
    if isinstance(value, str):
        return value.split()
    return [] if value is None else value


def _schema(name: str, offer: Offer) -> type[BaseModel]:
    """The arguments. An enumeration is a hint for the model alone: the daemon also
    knows other names of a language, and says which there are."""
    lang: dict[str, Any] = {"type": "string"}
    if offer.languages:
        lang["enum"] = list(offer.languages)
    names: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    fields: dict[str, Any] = {
        "lang": (Annotated[str, WithJsonSchema(lang)], Field(description=offer.lang)),
        "code": (str, Field(description=offer.code)),
    }
    if offer.libraries:
        kind = Annotated[list[str], BeforeValidator(_as_list), WithJsonSchema(names)]
        fields["libraries"] = (
            kind,
            Field(default_factory=list, description=offer.libraries),
        )
    return cast("type[BaseModel]", create_model(name, **fields))
