// The JavaScript kernel: runs cells one after another in this process, so that
// what they leave stays. docs/sessions.md has what it says and is told, on the
// descriptors that its arguments name.
'use strict';

const fs = require('fs');
const Module = require('module');
const net = require('net');
const path = require('path');
const {Writable} = require('stream');
const util = require('util');
const vm = require('vm');
const rewrite = require('./kernel_rewrite.cjs');
const waits = require('./kernel_waits.cjs');

const MOST_TEXT = 256 * 1024;
const MOST_RESULTS = 256;
const MOST_RESULT_BYTES = 8 << 20;
const MAIN = 'main.js';
const DISPLAY = Symbol.for('Jupyter.display');
const ACK = '{"op":"ack"}\n';

const commands = Number(process.argv[2]);
const events = Number(process.argv[3]);
// Kept, because a cell may put others in their place.
const {writeSync, readSync, openSync, closeSync, unlinkSync, writeFileSync} = fs;
const kill = process.kill.bind(process);
const leave = process.exit.bind(process);
const {pid} = process;

let cell = null;  // that runs: {id, rich, …}
let socket = null;  // the commands'
let count = 0;
let held = Buffer.alloc(0);  // of the commands

function writeAll(fd, bytes) {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function send(event) {
  try {
    writeAll(events, Buffer.from(`${JSON.stringify(event)}\n`));
  } catch {
    process.reallyExit(1);
  }
}

// What was written has left the process: a cell that doesn't yield would pile it
// up, and what follows its end would come before it.
class Output extends Writable {
  constructor(fd) {
    super();
    this.fd = fd;
  }
  _write(bytes, _, done) {
    try {
      writeAll(this.fd, bytes);
      done();
    } catch (error) {
      done(error);
    }
  }
}

function openOutput(name, fd) {
  const stream = new Output(fd);
  Object.defineProperty(process, name, {
    value: stream, configurable: true, writable: true, enumerable: true});
  console[`_${name}`] = stream;
}

// One that was interrupted within a write, or that a cell has ended, writes no
// more.
function repairOutputs(interrupted) {
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    if (interrupted || process[name]?.writable !== true) openOutput(name, fd);
  }
}

function cut(text) {
  return text.length <= MOST_TEXT ? text : text.slice(-MOST_TEXT);
}

// What a value is displayed as, by MIME type.
function bundleOf(value) {
  const data = {};
  if (value !== null && typeof value === 'object') {
    const hook = value[DISPLAY];
    if (typeof hook === 'function') {
      for (const [type, content] of Object.entries(hook.call(value))) {
        const isBytes = content instanceof Uint8Array;
        data[type] = isBytes ? Buffer.from(content).toString('base64') : content;
      }
    }
  }
  if (!('text/plain' in data)) data['text/plain'] = util.inspect(value);
  return data;
}

function show(kind, data, waits) {
  const event = {ev: 'display', id: cell.id, kind, data, metadata: {}};
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (cell.results >= cell.mostResults || cell.bytes + bytes > cell.mostBytes) {
    send({ev: 'dropped', id: cell.id, count: 1, bytes});
    return;
  }
  ++cell.results;
  cell.bytes += bytes;
  send(waits ? {...event, ack: true} : event);
  if (waits) awaitAck();
}

// Nothing else comes while a cell runs.
function awaitAck() {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const buffer = Buffer.alloc(ACK.length);
  for (let have = 0; have < ACK.length;) {
    try {
      const size = readSync(commands, buffer, have, ACK.length - have, null);
      if (size === 0) process.reallyExit(0);
      have += size;
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 0.1);
    }
  }
}

function display(value) {
  if (cell !== null && cell.rich) show('display', bundleOf(value), true);
}

// A cell's standard input. What is opened next has the lowest free number.
let input = null;  // its stream, once the cell has asked for that
function setInput(content) {
  let path = '/dev/null';
  if (content !== undefined) {
    path = `/tmp/.stdin-${pid}-${count}`;
    writeFileSync(path, Buffer.from(content, 'base64'), {mode: 0o600});
  }
  try {
    closeSync(0);
  } catch {
    // A cell has.
  }
  openSync(path, 'r');
  if (content !== undefined) unlinkSync(path);
  input?.destroy();
  input = null;
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get() {
      // By places: a reading that an earlier cell left takes nothing away.
      input ??= new fs.ReadStream(null, {fd: 0, autoClose: false, start: 0});
      return input;
    },
  });
}

// Frames from the last one of a cell on are the kernel's.
function stackOf(error) {
  const lines = String(error.stack).split('\n');
  const last = lines.findLastIndex((line) => line.includes('<cell-'));
  const isFrame = (line) => /^ {4}at /.test(line);
  return lines.filter((line, at) => at <= last || !isFrame(line)).join('\n');
}

function wordsOf(error) {
  if (!util.types.isNativeError(error) && !(error instanceof Error)) {
    const text = util.inspect(error);
    return {name: typeof error, value: text, traceback: `Uncaught ${text}\n`};
  }
  let traceback = stackOf(error);
  for (let cause = error.cause, i = 0; cause instanceof Error && i < 10; ++i) {
    traceback += `\nCaused by: ${stackOf(cause)}`;
    cause = cause.cause;
  }
  return {
    name: String(error.name),
    value: String(error.message),
    traceback: `${traceback}\n`,
  };
}

function safeWords(error) {
  let words;
  try {
    words = wordsOf(error);
  } catch {
    words = {name: 'Error', value: '', traceback: 'Error\n'};
  }
  for (const [key, text] of Object.entries(words)) words[key] = cut(text);
  return words;
}

function interruptWords() {
  let value = '';
  if (cell?.stopWatching) {
    const what = [...new Set(process.getActiveResourcesInfo())].join(', ') || 'a thread';
    value = `the code was done; the cell waited for what it had started: ${what}`;
  }
  return {name: 'Interrupt', value, traceback: `Interrupt${value && `: ${value}`}\n`};
}

// The end of the cell; the first one counts. What is rejected meanwhile still
// belongs to it, so it is told a turn later.
function finish(which, status, exitCode, words) {
  if (which === null || which.outcome !== undefined) return;
  which.outcome = {status, exitCode, words};
  if (!which.isLast) {
    waits.later(tellEnd, which);
  } else if (status !== 'ok') {
    if (words !== undefined) send({ev: 'error', id: which.id, ...words});
    leave(exitCode);
  }
}

// What the last cell has started keeps node going as a program's would, and an
// error at any time ends it.
function beginLast() {
  process.exit = leave;
  process.off('uncaughtException', onUncaught);
  process.off('unhandledRejection', onRejection);
  process.on('uncaughtException', (error) => {
    // One of the cell's own takes it.
    if (process.listenerCount('uncaughtException') > 1) return;
    send({ev: 'error', id: cell.id, ...safeWords(error)});
    leave(1);
  });
  process.removeAllListeners('SIGINT');
  process.on('SIGINT', () => {
    if (process.listenerCount('SIGINT') > 1) return;  // the cell's own
    send({ev: 'error', id: cell.id, ...interruptWords()});
    leave(130);
  });
  socket.unref();
}

function tellEnd(which) {
  const {id, outcome, work} = which;
  let {status, exitCode, words} = outcome;
  if (status === 'ok' && process.exitCode !== undefined) {
    exitCode = Number(process.exitCode) & 0xff;
  }
  process.exitCode = undefined;
  which.stopWatching?.();
  socket.ref();
  if (status !== 'ok') {
    work.abandon();
    waits.release(socket);
  }
  const lasting = work.names().join(', ');
  if (lasting) process.stderr.write(`goes on after this cell: ${lasting}\n`);
  if (words !== undefined) send({ev: 'error', id, ...words});
  cell = null;
  send({ev: 'done', id, status, exit_code: exitCode, count});
  obey();
}

// Thrown where the cell's end has been told already.
class Exit {}

// An error that no code of the cell took. One of an earlier cell is none of the
// cell that runs.
function fail(error, work) {
  if (error instanceof Exit) return;
  if (cell?.isLast) {
    process.emit('uncaughtException', error, 'uncaughtException');
    return;
  }
  if (cell === null || (work !== undefined && work !== cell.work)) {
    const whose = work === undefined ? '' : ` in cell ${work.count}, which had ended`;
    process.stderr.write(`Uncaught${whose}: ${safeWords(error).traceback}`);
    work?.abandon();
    return;
  }
  if (cell.outcome === undefined) {
    finish(cell, 'error', 1, safeWords(error));
  } else if (cell.outcome.words === undefined && cell.outcome.status === 'ok') {
    cell.outcome = {status: 'error', exitCode: 1, words: safeWords(error)};
  }
}

function onUncaught(error) {
  fail(error, waits.current()?.work);
}

function onRejection(error, promise) {
  fail(error, waits.contextOf(promise)?.work);
}

// Ends the cell where it is.
function exit(code) {
  const exitCode = Number(code ?? process.exitCode ?? 0) & 0xff;
  if (cell === null) process.reallyExit(exitCode);
  const work = waits.current()?.work;
  if (work !== undefined && work !== cell.work) {
    work.abandon();
    throw new Exit();
  }
  finish(cell, 'exit', exitCode);
  if (cell.isInside) {
    // What waits for SIGINT ends the evaluation.
    kill(pid, 'SIGINT');
    for (;;);
  }
  throw new Exit();
}

// Names that a cell declares are the global object's, also where it has one of
// that name which can't be written.
function makeRoom(names) {
  for (const name of names) {
    const known = Object.getOwnPropertyDescriptor(globalThis, name);
    if (known?.configurable && !known.writable) {
      Object.defineProperty(globalThis, name, {
        value: undefined, configurable: true, writable: true, enumerable: true});
    }
  }
}

// Runs the cell's code as far as it comes without waiting.
function evaluate(which) {
  const filename = `<cell-${count}>`;
  const {code, names, prefix} = rewrite(which.code);
  const script = new vm.Script(code, {filename, columnOffset: -prefix});
  makeRoom(names);
  which.isInside = true;
  try {
    const run = () => script.runInThisContext({breakOnSigint: true});
    return which.isLast ? run() : waits.within(which.work, run);
  } finally {
    which.isInside = false;
  }
}

function succeed(which, value) {
  if (which.outcome !== undefined) return;
  try {
    if (which.rich && value !== undefined) {
      show('result', bundleOf(value), false);
    }
  } catch (error) {
    const {traceback} = safeWords(error);
    process.stderr.write(`the value can't be shown: ${traceback}`);
  }
  if (which.isLast) return finish(which, 'ok', 0);
  // The loop's end is the cell's: see kernel_waits.cjs. Other listeners for it may
  // still start something.
  process.off('beforeExit', beginEnd);
  process.prependListener('beforeExit', beginEnd);
  process.off('beforeExit', endOfLoop);
  process.on('beforeExit', endOfLoop);
  which.stopWatching = waits.watchConnections(which.work);
  socket.unref();
}

// What is referenced and idle is counted here, too, though it keeps no loop alive.
let idle = 0;
function beginEnd() {
  idle = process.getActiveResourcesInfo().length;
}

function endOfLoop() {
  if (process.getActiveResourcesInfo().length <= idle) finish(cell, 'ok', 0);
}

function setArguments(args) {
  process.argv.splice(2, Infinity, ...args);
}

function run(command) {
  ++count;
  cell = {
    id: command.id,
    code: String(command.code),
    rich: command.rich !== false,
    mostResults: command.max_results ?? MOST_RESULTS,
    mostBytes: command.max_result_bytes ?? MOST_RESULT_BYTES,
    results: 0,
    bytes: 0,
    isInside: false,
    isLast: command.last === true,
    // A last cell has whatever it starts to the end, and needs none of this.
    work: command.last === true ? undefined : new waits.Work(count),
  };
  const which = cell;
  if (which.isLast) beginLast();
  try {
    repairOutputs(false);
    setInput(command.stdin);
    if (command.args) setArguments(command.args);
    const value = evaluate(which);
    if (!util.types.isPromise(value)) return succeed(which, value);
    value.then(
        (settled) => succeed(which, settled),
        (error) => which === cell && fail(error, which.work));
  } catch (error) {
    if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') {
      repairOutputs(true);
      finish(which, 'interrupted', 130, interruptWords());
    } else {
      fail(error, which.work);
    }
  }
}

function obey() {
  while (cell === null) {
    const end = held.indexOf(10);
    if (end < 0) return;
    const line = held.subarray(0, end).toString();
    held = held.subarray(end + 1);
    const command = JSON.parse(line);
    if (command.op === 'quit') process.reallyExit(0);
    if (command.op === 'run') run(command);
  }
}

function start() {
  const filename = path.join(process.cwd(), MAIN);
  process.argv.splice(1, Infinity, filename);
  process.execArgv.length = 0;
  process.exit = exit;
  process.on('SIGINT', () => finish(cell, 'interrupted', 130, interruptWords()));
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onRejection);
  repairOutputs(true);
  // To itself a cell is the program's main file, though there is no such file.
  const module = new Module('.');
  module.filename = filename;
  module.paths = Module._nodeModulePaths(process.cwd());
  process.mainModule = module;
  const names = {
    require: Module.createRequire(filename),
    module,
    exports: module.exports,
    __filename: filename,
    __dirname: process.cwd(),
    display,
  };
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, {
      value, configurable: true, writable: true, enumerable: false});
  }
  socket = new net.Socket({fd: commands, readable: true, writable: false});
  socket.on('data', (data) => {
    held = held.length > 0 ? Buffer.concat([held, data]) : data;
    obey();
  });
  socket.on('end', () => process.reallyExit(0));
  socket.on('error', () => process.reallyExit(0));
  waits.watch();
  send({ev: 'ready', pid});
}

start();
