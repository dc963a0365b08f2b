// First calls with nothing but gRPC: a run whose output comes as it is written,
// and a session, which keeps its state. The stubs are made of the .proto files when
// it starts.
//
//   cd client/examples/node && npm install
//   sudo node first_call.mjs [ADDRESS]

import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";
import protobuf from "protobufjs";

const protos = process.env.SANDGLASS_PROTOS ??
  fileURLToPath(new URL("../../../proto", import.meta.url));
const names = ["sandbox_service", "session_service"];
const definition = loader.loadSync(names.map((name) => `sandglass/v1/${name}.proto`), {
  includeDirs: [protos],
  keepCase: true,
  enums: String,
  longs: Number,
  defaults: true,
  oneofs: true,
});
const rich = protobuf.loadSync(
  ["status", "error_details"].map((name) => `${protos}/google/rpc/${name}.proto`));
const { v1 } = grpc.loadPackageDefinition(definition).sandglass;

const address = process.argv[2] ?? process.env.SANDGLASS_ADDRESS ??
  "unix:/run/sandglass/sandglass.sock";
// gRPC takes 4 MiB unless told otherwise; an answer may have 16.
const options = { "grpc.max_receive_message_length": 16 << 20 };

// Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the
// authority of the daemon's certificate; $SANDGLASS_TOKEN says who calls.
function credentials() {
  const { SANDGLASS_CA: ca, SANDGLASS_TOKEN: token } = process.env;
  if (!ca) return grpc.credentials.createInsecure();
  const channel = grpc.credentials.createSsl(readFileSync(ca));
  if (!token) return channel;
  return grpc.credentials.combineChannelCredentials(channel,
    grpc.credentials.createFromMetadataGenerator((_, done) => {
      const metadata = new grpc.Metadata();
      metadata.set("authorization", `Bearer ${token}`);
      done(null, metadata);
    }));
}

const sandbox = new v1.SandboxService(address, credentials(), options);
const sessions = new v1.SessionService(address, credentials(), options);
const deadline = () => ({ deadline: Date.now() + 30_000 });
const call = (client, method, request) =>
  promisify(client[method].bind(client))(request, deadline());

const code = `
import time
for n in range(1, 4):
    print(n * n, flush=True)
    time.sleep(0.3)
`;

async function stream() {
  const run = { language: "python", code, limits: { wall_time: { seconds: 5 } } };
  for await (const event of sandbox.StreamRunCode({ run }, deadline())) {
    if (event.event === "chunk") {
      process.stdout.write(event.chunk.data);
    } else if (event.event === "result") {
      // What becomes of a program is never a gRPC error.
      const { outcome, evidence, timings } = event.result;
      const start = timings?.warm ? "warm" : "cold";
      console.log(`${outcome}, ${start}: ${evidence.explanation}`);
    }
  }
}

async function inSteps() {
  const { session } = await call(sessions, "CreateSession", { language: "python" });
  const { session_id } = session;
  try {
    for (const cell of ["x = 20", "x + 1"]) {
      const answer = await call(sandbox, "RunCode", { session_id, code: cell });
      for (const result of answer.results) console.log(result.data[0].data.toString());
    }
  } finally {
    await call(sessions, "DeleteSession", { session_id });
  }
}

function reason(error) {
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (!bytes) return grpc.status[error.code] ?? error.name;
  for (const detail of rich.lookupType("google.rpc.Status").decode(bytes).details) {
    if (detail.type_url.endsWith("/google.rpc.ErrorInfo")) {
      return rich.lookupType("google.rpc.ErrorInfo").decode(detail.value).reason;
    }
  }
  return grpc.status[error.code];
}

try {
  await stream();
  await inSteps();
} catch (error) {
  console.error(`${reason(error)}: ${error.details ?? error.message}`);
  process.exitCode = 1;
} finally {
  sandbox.close();
  sessions.close();
}
