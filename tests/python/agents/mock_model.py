"""A model of few words: an OpenAI-compatible server whose answers are written
down, for tests of agents without a model.

    with MockModel([call("run_code", lang="python", code="print(1)"), "It is 1."]) as m:
        ChatOpenAI(base_url=m.url, api_key="none", model="mock").invoke("…")
        m.requests[1]["messages"][-1]       # what came back to the model

Chat Completions alone, streamed when the request wants it. A step is text, a call
or a list of calls; or a function of the request's messages that returns one.
"""

import http.server
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self


class ToolCall(NamedTuple):
    name: str
    args: dict[str, Any]
    id: str | None = None


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall(name, args)


Answer = str | ToolCall | Sequence[ToolCall]
Step = Answer | Callable[[list[dict[str, Any]]], Answer]


class MockModel:
    """`requests` are the bodies that came, in order. One after the script's end is
    answered with an error."""

    def __init__(self, script: Sequence[Step]) -> None:
        self._script = list(script)
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.mock = self  # type: ignore[attr-defined]
        server.daemon_threads = True
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def tool_results(self) -> list[str]:
        """Text of the tools' results that the last request had."""
        messages = self.requests[-1]["messages"]
        return [_text(m["content"]) for m in messages if m["role"] == "tool"]

    def next_message(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        if number > len(self._script):
            raise IndexError(f"the script has {len(self._script)} steps")
        step = self._script[number - 1]
        if callable(step):
            step = step(request["messages"])
        if isinstance(step, str):
            return {"role": "assistant", "content": step}
        calls = [step] if isinstance(step, ToolCall) else step
        made = [
            {
                "id": each.id or f"call_{number}_{index}",
                "type": "function",
                "function": {"name": each.name, "arguments": json.dumps(each.args)},
            }
            for index, each in enumerate(calls)
        ]
        return {"role": "assistant", "content": None, "tool_calls": made}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/chat/completions"):
            return self._send(404, {"error": {"message": f"no {self.path} here"}})
        request = json.loads(body)
        try:
            message = self.server.mock.next_message(request)
        except IndexError as error:
            # 400: clients don't try it again.
            return self._send(400, {"error": {"message": str(error)}})
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        if request.get("stream"):
            return self._stream(message, reason)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return self._send(200, {**_HEAD, "choices": [choice], "usage": _USAGE})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: dict[str, Any], reason: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for delta in _deltas(message):
            self._event([{"index": 0, "delta": delta, "finish_reason": None}])
        self._event([{"index": 0, "delta": {}, "finish_reason": reason}])
        self._event([], usage=_USAGE)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, choices: list[dict[str, Any]], **more: Any) -> None:
        head = {**_HEAD, "object": "chat.completion.chunk"}
        data = json.dumps({**head, "choices": choices, **more})
        self.wfile.write(f"data: {data}\n\n".encode())


_HEAD = {"id": "mock", "object": "chat.completion", "created": 0, "model": "mock"}
_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _deltas(message: dict[str, Any]) -> list[dict[str, Any]]:
    """As servers cut them: the name first, then pieces of the arguments."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = message["content"] or ""
    deltas += [{"content": text[i : i + 7]} for i in range(0, len(text), 7)]
    for index, made in enumerate(message.get("tool_calls", ())):
        function = made["function"]
        named = {"name": function["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**made, "index": index, "function": named}]})
        for i in range(0, len(function["arguments"]), 20):
            piece = {"arguments": function["arguments"][i : i + 20]}
            deltas.append({"tool_calls": [{"index": index, "function": piece}]})
    return deltas
