#!/usr/bin/python3
"""What the client adds to a model's tool calls, and how fast it starts.

usage: SANDGLASS_ADDRESS=… bench/agent.py BINARY      (a daemon is running)

The time between a tool call: from the last byte of a model's answer to the
first of the next request, with a program that prints a number between, so the
daemon's part is in it. The model is an HTTP server of this process.
"""

import http.server
import json
import socket
import statistics
import subprocess
import sys
import threading
import time

CALLS = 150
LEARNING = 5
STARTS = 40


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0
    answered_at = None
    between = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        cls = type(self)
        self.rfile.read(int(self.headers["Content-Length"]))
        now = time.perf_counter()
        if cls.answered_at is not None:
            cls.between.append((now - cls.answered_at) * 1e3)
        cls.asked += 1
        delta = {"content": "done"}
        if cls.asked <= CALLS:
            arguments = {"language": "python", "code": f"print({cls.asked})"}
            delta = {"tool_calls": [{
                "index": 0, "id": f"call-{cls.asked}",
                "function": {"name": "run_code",
                             "arguments": json.dumps(arguments)}}]}
        events = [{"choices": [{"index": 0, "delta": delta}]},
                  {"choices": [{"index": 0, "delta": {},
                                "finish_reason": "stop"}]}]
        body = "".join(f"data: {json.dumps(e)}\n\n" for e in events)
        body = (body + "data: [DONE]\n\n").encode()
        # Else the kernel keeps the body back until the head is acknowledged.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        cls.answered_at = time.perf_counter()


def p50(times):
    return statistics.median(times)


def calls(binary):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    subprocess.run([binary, "agent", "--provider", "openai", "--base-url", url,
                    "-m", "bench", "--max-rounds", str(CALLS + 1), "go"],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return p50(Model.between[LEARNING:])


def start(binary):
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run([binary, "--version"], check=True,
                       stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began) * 1e3)
    return p50(times)


def first_list(binary):
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with subprocess.Popen([binary, "mcp"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as server:
            for number, method, params in (
                    (1, "initialize", {
                        "protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "bench", "version": "1"}}),
                    (2, "tools/list", {})):
                request = {"jsonrpc": "2.0", "id": number, "method": method,
                           "params": params}
                server.stdin.write((json.dumps(request) + "\n").encode())
                server.stdin.flush()
                json.loads(server.stdout.readline())
            times.append((time.perf_counter() - began) * 1e3)
            server.stdin.close()
    return p50(times)


def main(binary):
    for what, took, bar in (("a tool call, run and all", calls(binary), 2),
                            ("start of the binary", start(binary), 20),
                            ("mcp to its first tools/list", first_list(binary),
                             50)):
        print(f"{what}: p50 {took:.2f} ms, bar {bar} ms: "
              f"{'PASS' if took <= bar else 'FAIL'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
