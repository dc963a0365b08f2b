// What a page in a browser does with a gateway of another origin, by connect-web
// and by gRPC-Web's own client. What became of it goes to the page's own server.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web";

import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import {
  RunCodeRequestSchema,
  RunCodeResponseSchema,
  StreamRunCodeRequestSchema,
  StreamRunCodeResponseSchema,
} from "./gen/sandglass/v1/run_pb.js";
import { SandboxService } from "./gen/sandglass/v1/sandbox_service_pb.js";

const settings = await (await fetch("/settings")).json();
const authorization = `Bearer ${settings.token}`;
const text = (bytes) => new TextDecoder().decode(bytes);

function clientOf(make, options) {
  const interceptor = (next) => (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
  const transport = make({
    baseUrl: settings.gateway,
    interceptors: [interceptor],
    defaultTimeoutMs: 60_000,
    ...options,
  });
  return createClient(SandboxService, transport);
}

function python(code, label) {
  return { language: "python", code, labels: { test: label } };
}

// What prints, waits and prints; how long before the end the first output came.
const TWICE = `import time
print("one", flush=True)
time.sleep(2)
print("two")`;

async function connectWeb(client, name) {
  const answer = await client.runCode(python("print(6*7)", `page-${name}`));

  let first;
  let output = "";
  for await (const { event } of client.streamRunCode({ run: python(TWICE, "none") })) {
    if (event.case !== "chunk") continue;
    first ??= performance.now();
    output += text(event.value.data);
  }
  const early = performance.now() - first;

  const error = await client.runCode(python("", "none")).catch((failed) => failed);
  const [info] = error.findDetails(ErrorInfoSchema);

  const abort = new AbortController();
  const endless = python("print(1, flush=True)\nimport time\ntime.sleep(120)", `page-cancel-${name}`);
  const cancelled = await (async () => {
    for await (const { event } of client.streamRunCode({ run: endless }, { signal: abort.signal })) {
      if (event.case === "chunk") abort.abort();
    }
  })().catch((failed) => ConnectError.from(failed));
  return {
    stdout: text(answer.stdout.data),
    output,
    early,
    error: [Code[error.code], info?.reason],
    cancelled: Code[cancelled.code],
  };
}

// gRPC-Web's client with messages of protobuf-es: its own plugin for protoc is in
// no registry.
function method(name, type, request, response) {
  return new MethodDescriptor(
    `/sandglass.v1.SandboxService/${name}`,
    type,
    Object,
    Object,
    (message) => toBinary(request, message),
    (bytes) => fromBinary(response, bytes),
  );
}
const RUN = method("RunCode", MethodType.UNARY, RunCodeRequestSchema, RunCodeResponseSchema);
const STREAM = method(
  "StreamRunCode",
  MethodType.SERVER_STREAMING,
  StreamRunCodeRequestSchema,
  StreamRunCodeResponseSchema,
);

async function grpcWeb(format) {
  const client = new GrpcWebClientBase({ format });
  const call = (code) =>
    client.unaryCall(
      settings.gateway + RUN.getName(),
      create(RunCodeRequestSchema, python(code, `page-grpc-web-${format}`)),
      { authorization },
      RUN,
    );
  const answer = await call("print(6*7)");
  const error = await call("").catch((failed) => failed);

  let first;
  let output = "";
  await new Promise((resolve, reject) => {
    const stream = client.serverStreaming(
      settings.gateway + STREAM.getName(),
      create(StreamRunCodeRequestSchema, { run: python(TWICE, "none") }),
      { authorization },
      STREAM,
    );
    stream.on("data", ({ event }) => {
      if (event.case !== "chunk") return;
      first ??= performance.now();
      output += text(event.value.data);
    });
    stream.on("error", reject);
    stream.on("end", resolve);
  });
  return {
    stdout: text(answer.stdout.data),
    output,
    early: performance.now() - first,
    error: [error.constructor.name, error.code, error.metadata["grpc-status-details-bin"]],
  };
}

const TASKS = {
  connect: () => connectWeb(clientOf(createConnectTransport, { useBinaryFormat: true }), "connect"),
  connectJson: () =>
    connectWeb(clientOf(createConnectTransport, { useBinaryFormat: false }), "connectJson"),
  grpcWeb: () => connectWeb(clientOf(createGrpcWebTransport, {}), "grpcWeb"),
  async get() {
    const { languages } = await clientOf(createConnectTransport, { useHttpGet: true }).getServerInfo({});
    return languages.length;
  },
  grpcWebsOwn: () => grpcWeb("binary"),
  grpcWebsOwnText: () => grpcWeb("text"),
};

const results = {};
for (const [name, task] of Object.entries(TASKS)) {
  results[name] = await task().catch((failed) => ({ failed: String(failed?.stack ?? failed) }));
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
