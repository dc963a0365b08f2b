// A page in Chromium and a gateway of another origin, which lets the pages of one
// origin call it and no others.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { fromBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";

import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "./gen/google/rpc/status_pb.js";
import { RunState } from "./gen/sandglass/v1/run_pb.js";
import { SandboxService } from "./gen/sandglass/v1/sandbox_service_pb.js";
import { Outcome } from "./gen/sandglass/v1/verdict_pb.js";

const gateway = process.env.SANDGLASS_TEST_GATEWAY;
const token = process.env.SANDGLASS_TEST_TOKEN;
const allowedPort = Number(process.env.SANDGLASS_TEST_PAGE_PORT);

const sandbox = createClient(
  SandboxService,
  createConnectTransport({
    baseUrl: gateway,
    httpVersion: "1.1",
    nodeOptions: { ca: readFileSync(process.env.SANDGLASS_TEST_CA) },
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  }),
);

async function runsOf(label) {
  return (await sandbox.listRuns({ labels: { test: label } })).runs;
}

const PAGE = '<!doctype html><script type="module" src="page.js"></script>';

// Serves the page; its results come as a promise.
function serve(port) {
  let server;
  const results = new Promise((resolve) => {
    server = createServer(async (request, response) => {
      if (request.url === "/") {
        response.setHeader("content-type", "text/html").end(PAGE);
      } else if (request.url === "/page.js") {
        response.setHeader("content-type", "text/javascript").end(readFileSync("page.js"));
      } else if (request.url === "/settings") {
        response.end(JSON.stringify({ gateway, token }));
      } else if (request.url === "/results") {
        let body = "";
        for await (const piece of request) body += piece;
        response.end();
        resolve(JSON.parse(body));
      } else {
        response.writeHead(404).end();
      }
    });
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve({ server, results }));
  });
}

// What the page of http://127.0.0.1:PORT could do.
async function resultsAt(port) {
  const { server, results } = await serve(port);
  const home = mkdtempSync(join(tmpdir(), "sandglass-browser-"));
  // The browser takes the gateway's certificate, and no other that it can't verify.
  const key = new X509Certificate(readFileSync(process.env.SANDGLASS_TEST_CERTIFICATE)).publicKey;
  const der = key.export({ type: "spki", format: "der" });
  const hash = createHash("sha256").update(der).digest("base64");
  let words = "";
  const browser = spawn(
    "chromium",
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--no-first-run",
      "--enable-logging=stderr",
      `--user-data-dir=${home}`,
      `--ignore-certificate-errors-spki-list=${hash}`,
      `http://127.0.0.1:${server.address().port}/`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  browser.stderr.on("data", (piece) => (words += piece));
  const gone = new Promise((resolve) => browser.on("close", resolve));
  try {
    const late = sleep(60_000, undefined, { ref: false }).then(() => {
      throw new Error(`no results; Chromium's words:\n${words.slice(-4000)}`);
    });
    const ended = gone.then(() => {
      throw new Error(`Chromium ended:\n${words.slice(-4000)}`);
    });
    return await Promise.race([results, late, ended]);
  } finally {
    browser.kill();
    await gone;
    server.close();
    server.closeAllConnections();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

test("a page of an allowed origin runs programs", async () => {
  const results = await resultsAt(allowedPort);
  for (const way of ["connect", "connectJson", "grpcWeb"]) {
    const { early, ...rest } = results[way];
    assert.deepEqual(rest, {
      stdout: "42\n",
      output: "one\ntwo\n",
      error: ["InvalidArgument", "INVALID_REQUEST"],
      cancelled: "Canceled",
    }, way);
    assert(early > 1000, `${way}: the first output came ${early} ms before the end`);
    let run;
    for (let i = 0; i < 200 && run?.state !== RunState.FINISHED; ++i) {
      [run] = await runsOf(`page-cancel-${way}`);
      await sleep(100);
    }
    assert.equal(Outcome[run.outcome], "CANCELLED");
  }
  assert(results.get > 0, JSON.stringify(results.get));
  for (const way of ["grpcWebsOwn", "grpcWebsOwnText"]) {
    const { stdout, output, early, error, failed } = results[way];
    assert.equal(failed, undefined);
    assert.deepEqual([stdout, output], ["42\n", "one\ntwo\n"], way);
    if (way === "grpcWebsOwnText") assert(early > 1000, `${way}: ${early}`);
    const INVALID_ARGUMENT = 3;
    assert.equal(error[1], INVALID_ARGUMENT);
    const status = fromBinary(StatusSchema, Buffer.from(error[2], "base64"));
    const reasons = status.details
      .filter(({ typeUrl }) => typeUrl.endsWith("/google.rpc.ErrorInfo"))
      .map(({ value }) => fromBinary(ErrorInfoSchema, value).reason);
    assert.deepEqual(reasons, ["INVALID_REQUEST"]);
  }
});

test("a page of another origin runs none", async () => {
  const before = (await runsOf("page-connect")).length;
  const results = await resultsAt(0);
  for (const [way, result] of Object.entries(results)) {
    assert.match(result.failed ?? JSON.stringify(result), /Failed to fetch|Http response at 400 or 500 level/, way);
  }
  assert.equal((await runsOf("page-connect")).length, before);
});
