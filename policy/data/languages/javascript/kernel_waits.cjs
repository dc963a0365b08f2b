// What the cells of the JavaScript kernel have started: whose it is, and what of
// it goes on.
//
// A cell ends when a program of its text would: when nothing that it has started
// keeps node's event loop alive. What is meant to go on keeps no cell waiting:
// intervals, servers, watchers and connections at which nothing happens are taken
// out of that count (unref), and so is all that these start. Between cells the
// kernel's own pipe keeps the loop alive. A cell that still awaits a promise waits
// for these, too: they may settle it.
'use strict';

const asyncHooks = require('async_hooks');
const dgram = require('dgram');
const net = require('net');
const v8 = require('v8');

const QUIET_MS = 1000;
const POLL_MS = 100;
const LASTING = {
  TCPSERVERWRAP: 'server',
  PIPESERVERWRAP: 'server',
  FSEVENTWRAP: 'watch of a file',
  STATWATCHER: 'watch of a file',
};
// Kept, because a cell may put others in their place.
const {clearImmediate, clearInterval, setImmediate, setInterval} = globalThis;
const {nextTick} = process;
const {executionAsyncResource} = asyncHooks;

// An object's context, where no cell can see it.
class Returned {
  constructor(object) {
    return object;
  }
}
class Mark extends Returned {
  #context;
  static set(object, context) {
    if (!(#context in object)) new Mark(object);
    object.#context = context;
  }
  static get(object) {
    return #context in object ? object.#context : undefined;
  }
}

// What one cell starts. A context is that, and whether it is in the background:
// of something that goes on after the cell.
class Work {
  constructor(count) {
    this.count = count;
    this.front = {work: this, isBackground: false};
    this.back = {work: this, isBackground: true};
    this.isAbandoned = false;
    this.started = new Set();  // that has to be ended where the work is
    this.mostStarted = 1000;
    this.lasting = [];
  }

  start(thing) {
    this.started.add(thing);
    if (this.started.size <= this.mostStarted) return;
    for (const one of this.started) if (one._destroyed) this.started.delete(one);
    this.mostStarted = Math.max(1000, 2 * this.started.size);
  }

  // As a program's end does: its timers and threads are gone.
  abandon() {
    this.isAbandoned = true;
    for (const thing of this.started) end(thing);
    this.started.clear();
  }

  // What goes on, in words.
  names() {
    return this.lasting.filter((one) => one.goesOn()).map((one) => one.name());
  }
}

function end(thing) {
  if (thing.stopThread) return thing.stopThread();
  return thing._onImmediate ? clearImmediate(thing) : clearInterval(thing);
}

let inside;  // the context of the code that runs now, where node doesn't know it
let isOwn = false;  // the kernel itself starts something
const outer = [];  // what `inside` was before
const servers = new Map();  // contexts by asynchronous id
// What goes on though the loop does not count it, or may be so.
const apart = new Set();
let mostApart = 1000;

function current() {
  return inside ?? Mark.get(executionAsyncResource());
}

// Runs a cell's own code.
function within(work, run) {
  outer.length = 0;
  inside = work.front;
  try {
    return run();
  } finally {
    inside = undefined;
  }
}

function asKernel(start, ...args) {
  isOwn = true;
  try {
    return start(...args);
  } finally {
    isOwn = false;
  }
}

// As soon as the kernel's caller is done.
function later(run, arg) {
  asKernel(setImmediate, run, arg);
}

function onInit(id, type, trigger, resource) {
  if (isOwn) return;
  // A connection comes from the server alone.
  const accepts = type === 'TCPWRAP' || type === 'PIPEWRAP';
  let context = (accepts && servers.get(trigger)) || current();
  if (context === undefined) return;
  const {work} = context;
  const isInterval = type === 'Timeout' && resource._repeat !== null;
  if (isInterval || type in LASTING) context = work.back;
  Mark.set(resource, context);
  if (type.endsWith('SERVERWRAP')) servers.set(id, context);
  // The cell itself may take these out of the count.
  if (type === 'WORKER' || type === 'PROCESSWRAP') putApart(resource);
  const endable = type === 'Timeout' || type === 'Immediate' || type === 'WORKER';
  if (endable) work.start(resource);
  if (context.isBackground || (endable && work.isAbandoned)) {
    // When it is complete.
    asKernel(nextTick, settle, resource, type, work);
  }
}

function settle(resource, type, work) {
  if (work.isAbandoned && work.started.delete(resource)) return end(resource);
  if (!resource.hasRef?.()) return;
  if (type === 'Timeout' && resource._repeat !== null) {
    work.lasting.push({
      goesOn: () => !resource._destroyed,
      name: () => `an interval of ${resource._repeat} ms`,
    });
  } else if (type in LASTING) {
    const server = process._getActiveHandles().find((one) => one._handle === resource);
    work.lasting.push({
      goesOn: () => server?.listening ?? resource.initialized ?? true,
      name: () => `a ${LASTING[type]}${placeOf(' at', server?.address?.())}`,
    });
  }
  resource.unref();
  putApart(resource);
}

function putApart(resource) {
  apart.add(resource);
  if (apart.size <= mostApart) return;
  for (const one of apart) if (!isAlive(one)) apart.delete(one);
  mostApart = Math.max(1000, 2 * apart.size);
}

function isAlive(resource) {
  if (resource._destroyed) return false;
  if (resource.hasRef?.()) return true;
  // One that has ended takes none.
  resource.ref?.();
  if (!resource.hasRef?.()) return false;
  resource.unref();
  return true;
}

// Whether something may still settle a promise when the loop has come to its end.
function mayGoOn() {
  for (const one of apart) {
    if (isAlive(one)) return true;
    apart.delete(one);
  }
  return false;
}

// Calls it now and then, until it returns false.
function poll(check) {
  const timer = asKernel(setInterval, () => check() || clearInterval(timer), POLL_MS);
  timer.unref();
}

function placeOf(preposition, address) {
  if (!address) return '';
  if (typeof address === 'string') return `${preposition} ${address}`;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${preposition} ${host}:${address.port}`;
}

// Connections on which nothing comes or goes, until the function that is returned
// is called. One of a request that goes on is waited for.
function watchConnections(work) {
  const seen = new Map();
  const look = () => {
    for (const one of process._getActiveHandles()) {
      if (!isIdle(one)) continue;
      const traffic = (one.bytesRead ?? 0) + (one.bytesWritten ?? 0);
      if (seen.get(one) !== traffic) {
        seen.set(one, traffic);
        continue;
      }
      work.lasting.push({
        goesOn: () => !one.destroyed,
        name: () => `a connection${placeOf(' to', remoteOf(one))}`,
      });
      if (one._handle) {
        Mark.set(one._handle, work.back);
        putApart(one._handle);
      }
      one.unref();
    }
  };
  const timer = asKernel(setInterval, look, QUIET_MS).unref();
  return () => clearInterval(timer);
}

function isIdle(handle) {
  if (handle instanceof dgram.Socket) return true;
  // Descriptors of children have no family.
  if (!(handle instanceof net.Socket) || !handle.remoteFamily) return false;
  const request = handle._httpMessage;
  const isFetch = Object.getOwnPropertySymbols(handle).some(
      ({description}) => description === 'client');
  return handle.writableLength === 0 && !isFetch && !(request && !request.destroyed);
}

function remoteOf(socket) {
  if (!socket.remoteAddress) return undefined;
  return {
    address: socket.remoteAddress,
    family: socket.remoteFamily,
    port: socket.remotePort,
  };
}

// What keeps the loop alive keeps no later cell waiting.
function release(kept) {
  for (const handle of process._getActiveHandles()) {
    if (handle !== kept) handle.unref?.();
  }
}

function watch() {
  const hook = asyncHooks.createHook({init: onInit});
  let internal = null;
  try {
    internal = require('internal/promise_hooks');
  } catch {
    // Node shows marks of its own in promises then.
  }
  const known = internal?.createHook;
  if (internal !== null) internal.createHook = () => () => {};
  hook.enable();
  if (internal !== null) internal.createHook = known;
  v8.promiseHooks.createHook({
    init(promise) {
      const context = isOwn ? undefined : current();
      if (context !== undefined) Mark.set(promise, context);
    },
    before(promise) {
      outer.push(inside);
      inside = Mark.get(promise);
    },
    after() {
      inside = outer.pop();
    },
  });
}

module.exports = {
  Work, watch, within, current, later, release, watchConnections, mayGoOn, poll,
  contextOf: Mark.get,
};
