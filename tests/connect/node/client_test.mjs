// Tests of Connect's clients for JavaScript against a gateway: the one for node
// and, by node's own fetch, the one for browsers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Code, ConnectError, createClient } from "@connectrpc/connect";
import * as forNode from "@connectrpc/connect-node";
import * as forWeb from "@connectrpc/connect-web";

import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { ExecService } from "./gen/sandglass/v1/exec_service_pb.js";
import { FileService } from "./gen/sandglass/v1/file_service_pb.js";
import { RunState } from "./gen/sandglass/v1/run_pb.js";
import { SandboxService } from "./gen/sandglass/v1/sandbox_service_pb.js";
import { SessionService } from "./gen/sandglass/v1/session_service_pb.js";
import { Outcome } from "./gen/sandglass/v1/verdict_pb.js";

const baseUrl = process.env.SANDGLASS_TEST_GATEWAY;
const nodeOptions = { ca: readFileSync(process.env.SANDGLASS_TEST_CA) };

// What prints, waits and prints.
const TWICE = `import time
print("one", flush=True)
time.sleep(2)
print("two")`;
const ENDLESS = `import time
print("one", flush=True)
time.sleep(120)`;

function withToken(token) {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

function clients(make, options, token = process.env.SANDGLASS_TEST_TOKEN) {
  const transport = make({
    baseUrl,
    interceptors: [withToken(token)],
    defaultTimeoutMs: 60_000,
    ...options,
  });
  return {
    runs: createClient(SandboxService, transport),
    sessions: createClient(SessionService, transport),
    files: createClient(FileService, transport),
    execs: createClient(ExecService, transport),
  };
}

const http1 = { httpVersion: "1.1", nodeOptions };
// Those for the web stream to the client alone, as browsers do.
const TRANSPORTS = {
  connect: [forNode.createConnectTransport, { ...http1, useBinaryFormat: true }],
  connectJson: [forNode.createConnectTransport, { ...http1, useBinaryFormat: false }],
  grpcWeb: [forNode.createGrpcWebTransport, http1],
  grpc: [forNode.createGrpcTransport, { nodeOptions }],
  webConnect: [forWeb.createConnectTransport, { useBinaryFormat: true }],
  webConnectJson: [forWeb.createConnectTransport, { useBinaryFormat: false }],
  webGrpcWeb: [forWeb.createGrpcWebTransport, {}],
};

function failsWith(code, reason) {
  return (error) => {
    assert(error instanceof ConnectError, error);
    assert.equal(Code[error.code], Code[code], error);
    const [info] = error.findDetails(ErrorInfoSchema);
    assert.equal(info?.reason, reason);
    return true;
  };
}

// The run with that label is over soon.
async function ends(c, label, outcome) {
  let runs;
  for (let i = 0; i < 200; ++i) {
    ({ runs } = await c.runs.listRuns({ labels: { test: label } }));
    if (runs.length === 1 && runs[0].state === RunState.FINISHED) {
      assert.equal(Outcome[runs[0].outcome], Outcome[outcome]);
      return;
    }
    await sleep(100);
  }
  assert.fail(`it goes on: ${runs.length} ${runs[0]?.state}`);
}

function python(code, label = "none") {
  return { language: "python", code, labels: { test: label } };
}

async function withSession(c, body) {
  const { session } = await c.sessions.createSession({
    language: "python",
    idleTimeout: { seconds: 60n },
  });
  try {
    await body(session.sessionId);
  } finally {
    await c.sessions.deleteSession({ sessionId: session.sessionId });
  }
}

async function* conversation(sessionId, wait) {
  const spec = { sessionId, command: "cat", openStdin: true };
  yield { message: { case: "start", value: { spec } } };
  for (const word of ["one\n", "two\n"]) {
    const next = wait();
    yield { message: { case: "stdin", value: Buffer.from(word) } };
    await next;
  }
  yield { message: { case: "closeStdin", value: {} } };
}

const TESTS = {
  async run(c) {
    const answer = await c.runs.runCode(python("print(6*7)"));
    assert.equal(Buffer.from(answer.stdout.data).toString(), "42\n");
  },

  async stream(c) {
    let first;
    let output = "";
    let result;
    for await (const part of c.runs.streamRunCode({ run: python(TWICE) })) {
      if (part.event.case === "chunk") {
        first ??= performance.now();
        output += Buffer.from(part.event.value.data).toString();
      } else if (part.event.case === "result") {
        result = part.event.value;
      }
    }
    assert.equal(output, "one\ntwo\n");
    assert.equal(result.outcome, Outcome.OK);
    assert(performance.now() - first > 1000, "the first output came late");
  },

  async errors(c) {
    await assert.rejects(
      c.runs.runCode({ language: "klingon", code: "x" }),
      failsWith(Code.FailedPrecondition, "LANGUAGE_UNAVAILABLE"),
    );
    await assert.rejects(
      c.runs.runCode(python("")),
      failsWith(Code.InvalidArgument, "INVALID_REQUEST"),
    );
  },

  async errorOfStream(c) {
    await assert.rejects(async () => {
      for await (const part of c.runs.streamRunCode({ run: python("") })) {
        assert.fail(part.event.case);
      }
    }, failsWith(Code.InvalidArgument, "INVALID_REQUEST"));
  },

  async stranger(_, name) {
    const c = clients(...TRANSPORTS[name], "sgt_nobody");
    await assert.rejects(
      c.runs.runCode(python("print(6*7)")),
      failsWith(Code.Unauthenticated, "BAD_CREDENTIALS"),
    );
  },

  // A call's deadline is its program's, too, which leaves time for the answer.
  async timeout(c, name) {
    const label = `node-timeout-${name}`;
    const answer = await c.runs.runCode(python(ENDLESS, label), { timeoutMs: 3000 });
    assert.equal(Outcome[answer.outcome], "TIMEOUT");
    await ends(c, label, Outcome.TIMEOUT);
  },

  async timeoutOfStream(c) {
    await withSession(c, async (sessionId) => {
      const began = performance.now();
      await assert.rejects(
        async () => {
          for await (const _ of c.files.watchFiles({ sessionId }, { timeoutMs: 3000 }));
        },
        (error) => ConnectError.from(error).code === Code.DeadlineExceeded,
      );
      const took = performance.now() - began;
      assert(took > 1000 && took < 10_000, `it took ${took} ms`);
    });
  },

  async giveUp(c, name) {
    const label = `node-give-up-${name}`;
    await assert.rejects(
      c.runs.runCode(python(ENDLESS, label), { signal: AbortSignal.timeout(2000) }),
      ConnectError,
    );
    await ends(c, label, Outcome.CANCELLED);
  },

  async cancel(c, name) {
    const label = `node-cancel-${name}`;
    const abort = new AbortController();
    const call = c.runs.streamRunCode({ run: python(ENDLESS, label) }, { signal: abort.signal });
    await assert.rejects(
      async () => {
        for await (const part of call) {
          if (part.event.case === "chunk") abort.abort();
        }
      },
      (error) => ConnectError.from(error).code === Code.Canceled,
    );
    await ends(c, label, Outcome.CANCELLED);
  },

  async files(c, name) {
    await withSession(c, async (sessionId) => {
      const parts = [];
      for (let i = 0; i < 40; ++i) parts.push(Buffer.alloc(65536, `${1000 + i}\n`));
      const content = Buffer.concat(parts);
      if (name.startsWith("web")) {
        await c.files.uploadFiles({ sessionId, files: [{ path: "big", content }] });
      } else {
        const written = await c.files.writeFile(
          (async function* () {
            yield { part: { case: "start", value: { sessionId, path: "big" } } };
            for (const [i, value] of parts.entries()) {
              yield { part: { case: "data", value }, finish: i === parts.length - 1 };
            }
          })(),
        );
        assert.equal(written.info.size, BigInt(content.length));
      }
      const got = [];
      for await (const { part } of c.files.readFile({ sessionId, path: "big" })) {
        if (part.case === "data") got.push(part.value);
      }
      assert(content.equals(Buffer.concat(got)), `read ${Buffer.concat(got).length}`);
    });
  },

  // Both sides talk in turns by HTTP/2 alone; by HTTP/1.1 the answer comes when
  // the request is over, and browsers have no such calls.
  async execute(c, name) {
    if (name.startsWith("web")) {
      await assert.rejects(
        async () => {
          for await (const _ of c.execs.execute(conversation("", () => {})));
        },
        { name: "ConnectError", rawMessage: /streaming request/ },
      );
      return;
    }
    await withSession(c, async (sessionId) => {
      let answered = () => {};
      const wait = () =>
        name === "grpc" ? new Promise((resolve) => (answered = resolve)) : undefined;
      let heard = "";
      for await (const { event } of c.execs.execute(conversation(sessionId, wait))) {
        if (event.case === "output") {
          heard += Buffer.from(event.value.data).toString();
          answered();
        }
      }
      assert.equal(heard, "one\ntwo\n");
    });
  },
};

describe("transports", { concurrency: 1 }, () => {
  for (const [name, transport] of Object.entries(TRANSPORTS)) {
    describe(name, { concurrency: 4 }, () => {
      const c = clients(...transport);
      for (const [what, body] of Object.entries(TESTS)) {
        test(what, { timeout: 30_000 }, () => body(c, name));
      }
    });
  }
});

test("a GET is answered", async () => {
  const c = clients(forNode.createConnectTransport, { ...http1, useHttpGet: true });
  const { languages } = await c.runs.getServerInfo({});
  assert.notEqual(languages.length, 0);
});
