// The official TypeScript SDKs against `sandglass mcp`, as their users call
// them.
//
// usage: node_client.mjs sdk|client BINARY URL
//
// "sdk" is @modelcontextprotocol/sdk, "client" @modelcontextprotocol/client;
// both are looked for from the working directory. Prints "ok" at the end.
// SANDGLASS_ADDRESS names the daemon.
import assert from 'node:assert';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [, , kind, binary, url] = process.argv;
const modern = kind === 'client';
const require = createRequire(path.join(process.cwd(), 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

async function sdk() {
  if (modern) {
    const {Client, StreamableHTTPClientTransport} =
        await load('@modelcontextprotocol/client');
    const {StdioClientTransport} =
        await load('@modelcontextprotocol/client/stdio');
    return {Client, StreamableHTTPClientTransport, StdioClientTransport};
  }
  const {Client} = await load('@modelcontextprotocol/sdk/client/index.js');
  const {StreamableHTTPClientTransport} =
      await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const {StdioClientTransport} =
      await load('@modelcontextprotocol/sdk/client/stdio.js');
  return {Client, StreamableHTTPClientTransport, StdioClientTransport};
}

const call = (client, name, args, options) => modern ?
    client.callTool({name, arguments: args}, options) :
    client.callTool({name, arguments: args}, undefined, options);
const text = (result) => result.content[0].text;

// A call that is given up ends what runs: its file grows no more.
async function checkCancel(client, sandbox_id) {
  const stop = new AbortController();
  await assert.rejects(call(
      client, 'run_command', {
        sandbox_id,
        command: 'echo up; while :; do echo beat >> beats; sleep 0.05; done',
      },
      {signal: stop.signal, onprogress: () => stop.abort()}));
  const still = await call(client, 'run_command', {
    sandbox_id,
    command: 'for i in {1..20}; do was=$(stat -c %s beats); sleep 1; ' +
        'if [ $was = $(stat -c %s beats) ]; then echo still; exit; fi; done',
  });
  assert.ok(!still.isError && text(still).includes('still'), text(still));
}

async function check(client, cancels) {
  const {tools} = await client.listTools();
  assert.equal(tools.length, 11);
  const run = tools.find((tool) => tool.name === 'run_code');
  assert.equal(run.annotations.readOnlyHint, false);

  const answer = await call(
      client, 'run_code', {language: 'javascript', code: 'console.log(6 * 7)'});
  assert.ok(!answer.isError && text(answer).includes('42'), text(answer));

  const wrong = await call(client, 'run_code', {language: 7, code: '1'});
  assert.ok(wrong.isError && text(wrong).includes('language'), text(wrong));
  await assert.rejects(call(client, 'no_such_tool', {}), /no_such_tool/);

  const made = await call(client, 'create_sandbox', {});
  const sandbox_id = /sandbox_id: (\S+)/.exec(text(made))[1];
  const written = await call(
      client, 'write_file', {sandbox_id, path: 'a.txt', content: 'äöü\n'});
  assert.ok(!written.isError, text(written));
  const read = await call(client, 'read_file', {sandbox_id, path: 'a.txt'});
  assert.ok(text(read).includes('äöü'), text(read));

  const heard = [];
  const slow = await call(
      client, 'run_command',
      {sandbox_id, command: 'for i in 1 2 3; do echo $i; sleep 0.3; done'},
      {onprogress: (progress) => heard.push(progress.progress)});
  assert.ok(!slow.isError, text(slow));
  assert.ok(heard.length >= 2, String(heard));

  if (cancels) await checkCancel(client, sandbox_id);
  await call(client, 'delete_sandbox', {sandbox_id});
}

async function withClient(Client, transport, cancels) {
  const options = modern ? {versionNegotiation: {mode: 'auto'}} : {};
  const client = new Client({name: 'check', version: '1'}, options);
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, 'sandglass');
  if (modern) {
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  }
  await check(client, cancels);
  await client.close();
}

const {Client, StreamableHTTPClientTransport, StdioClientTransport} =
    await sdk();
await withClient(
    Client,
    new StdioClientTransport({
      command: binary,
      args: ['mcp'],
      env: {SANDGLASS_ADDRESS: process.env.SANDGLASS_ADDRESS},
    }),
    true);
// Over HTTP the earlier SDK keeps its connection and sends a notification,
// which without a session could be about anybody's call.
await withClient(
    Client, new StreamableHTTPClientTransport(new URL(url)), modern);
console.log('ok');
