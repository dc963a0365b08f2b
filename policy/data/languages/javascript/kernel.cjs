// The JavaScript kernel: runs cells one after another in this process, so that
// what they leave stays. docs/sessions.md has what it says and is told, on the
// descriptors that its arguments name.
'use strict';

const fs = require('fs');
const Module = require('module');
const net = require('net');
const path = require('path');
const util = require('util');
const vm = require('vm');
const rewrite = require('./kernel_rewrite.cjs');
const streams = require('./kernel_streams.cjs');
const waits = require('./kernel_waits.cjs');

const MOST_TEXT = 256 * 1024;
const MOST_RESULTS = 256;
const MOST_RESULT_BYTES = 8 << 20;
const MAIN = 'main.js';
const DISPLAY = Symbol.for('Jupyter.display');
const ACK = '{"op":"ack"}\n';
const UNSETTLED = 13;  // node's own exit code

const commands = Number(process.argv[2]);
const events = Number(process.argv[3]);
// Kept, because a cell may put others in their place.
const {readSync} = fs;
const {emit} = process;
const kill = process.kill.bind(process);
const leave = process.exit.bind(process);
const {pid} = process;

let cell = null;  // that runs: {id, rich, …}
let socket = null;  // the commands'
let count = 0;
let held = Buffer.alloc(0);  // of the commands

function send(event) {
  try {
    streams.writeAll(events, Buffer.from(`${JSON.stringify(event)}\n`));
  } catch {
    process.reallyExit(1);
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

function unsettledWords() {
  const value = 'the cell awaits a promise that nothing settles any more: ' +
      'no timer, request or the like is left';
  return {name: 'UnsettledAwait', value, traceback: `UnsettledAwait: ${value}\n`};
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
  try {
    // The program may start itself. A file that came with it stays.
    fs.writeFileSync(MAIN, cell.code, {flag: 'wx'});
  } catch {
    // There is no room.
  }
  // Its own code leaves none to the end, as in node's.
  process.exit = (code) => leave(code ?? process.exitCode ?? 0);
  process.removeAllListeners('SIGINT');
  process.on('SIGINT', () => {
    if (process.listenerCount('SIGINT') > 1) return;  // the cell's own
    send({ev: 'error', id: cell.id, ...interruptWords()});
    leave(130);
  });
  socket.unref();
}

// The last cell's code is done, or waits for what nobody settles.
function endLast() {
  if (cell.isSettled) return;
  if (!cell.awaits) {
    succeed(cell, cell.value);
  } else if (process.exitCode === undefined) {
    process.exitCode = UNSETTLED;
    send({ev: 'error', id: cell.id, ...unsettledWords()});
  }
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

// What node tells the program. Listeners are a cell's own, which may remove all.
function tellProgram(name, ...args) {
  const told = () => Reflect.apply(emit, process, [name, ...args]);
  if (cell?.isLast) return tellLast(name, args, told);
  const isRejection = name === 'unhandledRejection';
  if (isRejection || name === 'uncaughtException') {
    const work = (isRejection ? waits.contextOf(args[1]) : waits.current())?.work;
    try {
      if (!(args[0] instanceof Exit) && told()) return true;
      fail(args[0], work);
    } catch (error) {
      fail(error, work);
    }
    return true;
  }
  if (name === 'beforeExit' && cell !== null) return endOfLoop(told);
  return told();
}

function tellLast(name, args, told) {
  if (name === 'exit') endLast();
  if (name !== 'uncaughtException') return told();
  let [error] = args;
  let exitCode = 1;
  try {
    if (told()) return true;
  } catch (another) {
    error = another;
    exitCode = 7;  // node's own
  }
  send({ev: 'error', id: cell.id, ...safeWords(error)});
  return leave(exitCode);
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
  const {code, names, prefix, awaits} = rewrite(which.code);
  which.awaits = awaits;
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
  which.isSettled = true;
  if (which.isLast) return finish(which, 'ok', 0);
  which.stopWatching = waits.watchConnections(which.work);
  socket.unref();
}

// The loop's end is the cell's: see kernel_waits.cjs. Listeners for it may still
// start something. What is referenced and idle is counted, too, though it keeps no
// loop alive.
function endOfLoop(told) {
  const idle = process.getActiveResourcesInfo().length;
  let isTold = true;
  try {
    isTold = told();
  } catch (error) {
    fail(error, cell.work);
  }
  if (process.getActiveResourcesInfo().length > idle) return isTold;
  if (cell.isSettled) {
    finish(cell, 'ok', 0);
  } else if (waits.mayGoOn()) {
    waitApart();
  } else if (cell.awaits) {
    finish(cell, 'error', UNSETTLED, unsettledWords());
  } else {
    succeed(cell, cell.value);
    finish(cell, 'ok', 0);
  }
  return isTold;
}

// Until what the loop does not count has ended.
function waitApart() {
  socket.ref();
  const which = cell;
  waits.poll(() => {
    if (which === cell && !which.isSettled && waits.mayGoOn()) return true;
    if (which === cell) socket.unref();
    return false;
  });
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
  listen();
  if (which.isLast) beginLast();
  try {
    streams.setInput(command.stdin, count);
    streams.repairOutputs(false);
    if (command.args) setArguments(command.args);
    const value = which.value = evaluate(which);
    if (!util.types.isPromise(value)) return succeed(which, value);
    value.then((settled) => succeed(which, settled), (error) => {
      which.isSettled = true;
      // To a program it is a promise as any other.
      if (which.isLast && !which.awaits) throw error;
      if (which === cell) fail(error, which.work);
    });
    if (!which.isLast) socket.unref();
  } catch (error) {
    if (error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED') {
      streams.repairOutputs(true);
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

// Listeners without which no signal is heard; a cell may remove them with its own.
const listeners = ['newListener', 'removeListener', 'warning'].flatMap(
    (name) => process.listeners(name).map((listener) => [name, listener]));
listeners.push(['SIGINT', () => finish(cell, 'interrupted', 130, interruptWords())]);

function listen() {
  const isThere = ([name, listener]) => process.listeners(name).includes(listener);
  if (listeners.every(isThere)) return;
  for (const [name, listener] of listeners) process.off(name, listener).on(name, listener);
}

function start() {
  const filename = path.join(process.cwd(), MAIN);
  process.argv.splice(1, Infinity, filename);
  process.execArgv.length = 0;
  process.exit = exit;
  Object.defineProperty(process, 'emit', {
    value: tellProgram, configurable: true, writable: true, enumerable: false});
  listen();
  streams.repairOutputs(true);
  // To itself a cell is the program's main file, though mostly there is no such file.
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
