"""A model's call of a tool that runs code: what is asked of the daemon, and what
the model is told. No framework's own; `langchain` uses it."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, cast

from sandglass import _errors, _report, _run, _session
from sandglass._op import Op, Steps
from sandglass._run import Outcome, RunOptions, RunResult
from sandglass._session import SandboxInfo, SandboxOptions

if TYPE_CHECKING:
    from sandglass.v1 import policy_pb2

_IMAGES = ("**/*.png", "**/*.jpg", "**/*.jpeg", "**/*.gif")
# Nobody may be there any more to delete what a model's tool has made.
IDLE_TIMEOUT = 900.0
_PYTHON = frozenset({"python", "py", "python3"})
_MOST_THREADS = 10_000  # whose sandboxes are remembered, so as to tell of new ones
_LABEL = "sandglass-tool"


class ToolFailed(Exception):
    """The call could not be carried out; its words are for the model."""


class Decision(TypedDict, total=False):
    """A person's answer, in the words of LangChain's HumanInTheLoopMiddleware."""

    type: Literal["approve", "edit", "reject", "respond"]
    message: str
    edited_action: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """What the model asks for. `thread` names the conversation that it is in."""

    lang: str
    code: str
    libraries: Sequence[str] = ()
    thread: str = ""


class Answer(NamedTuple):
    """`result` is None when a person answered in the program's place."""

    text: str
    result: RunResult | None


Ask = Callable[[Call, str], Decision]
"""Has a person decide about a run that a rule wants approved; the text says why."""


@dataclass
class Runner:
    """Carries out calls. `sandbox` keeps state and is the user's; with `stateful`
    each thread has one of the runner's own."""

    run_options: RunOptions
    sandbox_options: SandboxOptions
    libraries: Sequence[str] = ()
    languages: Sequence[str] = ()
    sandbox: Callable[[], str] | None = None
    stateful: bool = False
    images: bool = False
    max_chars: int = 20_000
    home: str = "python"  # what a sandbox's libraries are of
    _key: str = field(default_factory=lambda: uuid.uuid4().hex)
    _seen: dict[str, str] = field(default_factory=dict)  # sandboxes by thread

    @property
    def keeps_state(self) -> bool:
        return self.stateful or self.sandbox is not None

    def explained(self, steps: Steps[Answer]) -> Steps[Answer]:
        """The same, with the daemon's errors in words for a model."""
        try:
            return (yield from steps)
        except _errors.SandglassError as error:
            words = _words(error)
            raise ToolFailed(_report.cut_middle(words, self.max_chars)) from error

    def steps(self, call: Call, ask: Ask | None) -> Steps[Answer]:
        """Without `ask` the model is told that an approver is needed."""
        notes: list[str] = []
        while True:
            result, told = yield from self._attempt(call)
            if result.outcome is not Outcome.NEEDS_APPROVAL:
                return self._answer(result, [*notes, *told])
            given = yield from self._given_already(call, result)
            if given is not None:
                return self._answer(given[0], [*notes, *given[1]])
            if ask is None:
                notes.append(
                    "When an approver has let it run (sandglass approvals approve "
                    f"{result.approval_id}), call this tool again with the same "
                    "arguments. Until then tell the user, or do without."
                )
                return self._answer(result, [*notes, *told])
            decision = ask(call, _why(call, result))
            kind = decision.get("type")
            message = decision.get("message", "")
            if kind == "approve":
                return (yield from self._approved(call, result, notes))
            yield from _withdraw(result, message)
            if kind == "reject":
                because = f", with these words: {message}" if message else ""
                return Answer(
                    f"A person didn't let the program run{because}. Nothing ran. "
                    "Don't try the same again unless the user asks for it.",
                    result,
                )
            if kind == "respond":
                return Answer(message, None)
            if kind != "edit":
                raise ValueError(f"{decision!r} is no decision")
            call = _edited(call, decision)
            ran = _report.cut_middle(call.code, 2000)
            notes = [f"A person changed the program before it ran; this is of: {ran}"]

    def _approved(
        self, call: Call, result: RunResult, notes: list[str]
    ) -> Steps[Answer]:
        approval_id = result.approval_id or ""
        try:
            yield _session.approve(approval_id, "", False)
        except _errors.PermissionDenied as error:
            notes.append(
                f"The user agrees, but this process may not approve ({error.message}). "
                f"An approver has to: sandglass approvals approve {approval_id}. "
                "Then call this tool again with the same arguments."
            )
            return self._answer(result, notes)
        except _errors.Conflict:
            pass  # another has answered; the run says what
        result, told = yield from self._attempt(call, approval_id)
        return self._answer(result, [*notes, *told])

    def _given_already(
        self, call: Call, waits: RunResult
    ) -> Steps[tuple[RunResult, list[str]] | None]:
        """The run, when an approver has let the same one run since it was asked."""
        from sandglass.v1 import policy_pb2

        ours: policy_pb2.Approval = yield _session.approval(waits.approval_id or "")
        request = policy_pb2.ListApprovalsRequest(
            states=[policy_pb2.APPROVAL_STATE_APPROVED]
        )
        found: list[policy_pb2.Approval] = yield Op(
            "policy", "ListApprovals", request, lambda answer: list(answer.approvals)
        )
        for other in found:
            if _same(ours, other):
                try:
                    run = yield from self._attempt(call, other.approval_id)
                except (_errors.Conflict, _errors.NotFound, _errors.PermissionDenied):
                    continue  # for other limits or files, or used just now
                yield from _withdraw(waits, f"{other.approval_id} was given for it")
                return run
        return None

    def _attempt(
        self, call: Call, approval_id: str = ""
    ) -> Steps[tuple[RunResult, list[str]]]:
        """Runs it, or hears why not; with notes for the model."""
        options = self.run_options.copy()
        options["approval_id"] = approval_id
        if not self.keeps_state:
            options["libraries"] = [*dict.fromkeys([*self.libraries, *call.libraries])]
            # As a notebook shows it: models rely on it in Python.
            options["rich"] = call.lang.lower() in _PYTHON
            if self.images:
                elsewhere = [f"/tmp/{name}" for name in _IMAGES]
                options["fetch"] = [*_IMAGES, *(elsewhere if options["rich"] else [])]
            result: RunResult = yield _run.op(_request(call, "", options))
            return result, []
        if call.libraries:
            raise ToolFailed(
                "This sandbox can't get more libraries: call again without. "
                + self._libraries_words()
            )
        notes: list[str] = []
        tries = 0
        while True:
            box: SandboxInfo = yield from self._sandbox(call.thread)
            before = self._seen.get(call.thread)
            self._seen[call.thread] = box.id
            if len(self._seen) > _MOST_THREADS:
                self._seen.pop(next(iter(self._seen)))
            if before not in (None, box.id):
                notes.append(
                    "The sandbox of the earlier calls has ended. This is a new one: "
                    "their variables and files are gone."
                )
            op = _run.op(_request(call, box.id, options))
            try:
                result = yield op
            except _errors.SessionGone:
                # It ended between the two calls.
                tries += 1
                if self.sandbox is not None or tries == 2:
                    raise
                continue
            if any(hint.id == "missing-library" for hint in result.raw.hints):
                notes.append(self._libraries_words())
            return result, notes

    def _sandbox(self, thread: str) -> Steps[SandboxInfo]:
        try:
            box: SandboxInfo = yield self._sandbox_op(thread, self.sandbox_options)
        except _errors.InvalidRequest:
            if self.sandbox_options.get("idle_timeout") != IDLE_TIMEOUT:
                raise
            # The operator's longest time may be shorter, and is what is had then.
            without = self.sandbox_options.copy()
            del without["idle_timeout"]
            box = yield self._sandbox_op(thread, without)
            self.sandbox_options = without
        return box

    def _sandbox_op(self, thread: str, wanted: SandboxOptions) -> Op[SandboxInfo]:
        if self.sandbox is not None:
            return _session.named("GetSession", self.sandbox())
        options = wanted.copy()
        # A conversation's id may have any length, and no two tools share one.
        name = hashlib.sha256(f"{thread or self._key}\0{self.home}".encode())
        name.update(repr(sorted(options.items())).encode())
        options["labels"] = {**options.get("labels", {}), _LABEL: name.hexdigest()}
        return _session.get_or_create(self.home, **options)

    def _libraries_words(self) -> str:
        has = ", ".join(self.libraries) or "none"
        return f"Its libraries, chosen where this tool was set up: {has}."

    def _answer(self, result: RunResult, notes: Sequence[str]) -> Answer:
        return Answer(_report.of_run(result, self.max_chars, notes), result)


def _words(error: _errors.SandglassError) -> str:
    """What a model is told of an error."""
    unsent = bool(error.reason) or "failed to connect" in error.grpc_message
    if isinstance(error, _errors.DaemonUnavailable):
        ran = "didn't run" if unsent else "may have run or not"
        return (
            f"The program {ran}: {error.message}\nTrying again won't help just now. "
            "Tell the user that sandglassd has to run."
        )
    if isinstance(error, _errors.SessionGone):
        return (
            f"The program didn't run: {error.message}\nThe sandbox is gone, with its "
            "variables and files. Tell the user."
        )
    advice = {
        "APPROVAL_DENIED": "Don't try the same again; tell the user.",
        "TOO_MANY_APPROVALS": "Too much waits for a person; tell the user.",
    }.get(error.reason, "")
    what = "The program didn't run" if unsent else "The call failed"
    return f"{what}: {error}\n{advice}".rstrip()


def _request(call: Call, session_id: str, options: RunOptions) -> Any:
    try:
        return _run.request(call.code, call.lang, session_id, "", **options)
    except (TypeError, ValueError) as error:
        raise ToolFailed(f"The program didn't run: {error}") from error


def _withdraw(result: RunResult, comment: str) -> Generator[Op[Any], Any, None]:
    """Nobody shall be asked about what won't run."""
    if result.approval_id:
        try:
            yield _session.deny(result.approval_id, comment[:200])
        except _errors.SandglassError:
            pass  # answered, or expired


def _same(ours: policy_pb2.Approval, other: policy_pb2.Approval) -> bool:
    # The daemon compares the rest.
    names = ("caller", "code_sha256", "language", "profile", "session_id")
    return all(getattr(ours, name) == getattr(other, name) for name in names)


def _edited(call: Call, decision: Decision) -> Call:
    args = decision.get("edited_action", {}).get("args")
    if not isinstance(args, Mapping) or not set(args) <= {"lang", "code", "libraries"}:
        raise ValueError(
            'an edit has "edited_action": {"name": …, "args": {"lang": …, "code": …}}, '
            f"not {decision!r}"
        )
    changed = {name: value for name, value in args.items() if value is not None}
    return replace(call, **cast(Any, changed))


def _why(call: Call, result: RunResult) -> str:
    lines = [f"A {call.lang} program needs your approval ({result.approval_id})."]
    for finding in result.findings:
        place = f"line {finding.line}: " if finding.line else ""
        lines.append(f"{place}{finding.message} (rule {finding.rule_id})")
    expires = result.raw.approval.expire_time
    if expires.seconds:
        minutes = max(0, round((expires.seconds - time.time()) / 60))
        lines.append(f"It waits for {minutes} minutes.")
    return "\n".join(lines)
