// Tells when the program is over, so that nobody waits until node has taken itself
// down and the kernel its memory, which takes longer than most programs do. It does
// so where node is about to leave for good and no user's code comes any more, and
// else not at all; so a program can't tell.
'use strict';

const { EventEmitter } = require('events');
const { fstatSync, writeSync } = require('fs');

const { emit } = EventEmitter.prototype;
const { reallyExit } = process;
const starter = process.mainModule;
const output = fstatSync(1);
// Time for the daemon to end the process, which it does sooner than node itself.
const MOMENT_MS = 5;
const clock = new Int32Array(new SharedArrayBuffer(4));

// `word`: what the daemon wants to read.
module.exports = function tellEnd(word) {
  // `process.emit` is looked up, in what process inherits it from, when 'exit' is
  // about to be emitted: by node itself at a program's end, and by process.exit().
  // A listener would be seen, and a function in between be in stack traces.
  let asked = false;
  Object.defineProperty(Object.getPrototypeOf(process), 'emit', {
    configurable: true,
    get() {
      if (!asked && this === process && process._exiting) {
        asked = true;
        if (isLast()) leave(word);
      }
      return EventEmitter.prototype.emit;
    },
    set(value) {
      Object.defineProperty(this, 'emit',
          { value, configurable: true, enumerable: true, writable: true });
    },
  });
};

// With the arrays and the like of the program, so anything may happen.
function isLast() {
  try {
    if (process._events.exit !== undefined || EventEmitter.prototype.emit !== emit)
      return false;
    // An addon is told of the end.
    const modules = Object.keys(require.cache);
    if (modules.some((name) => name.endsWith('.node'))) return false;
    // From node 21 on it is node's own affair that a module awaits what never comes.
    if (parseInt(process.versions.node) > 20 && process.mainModule === starter)
      return false;
    const [, , , caller] = callers();
    if (caller === undefined) return true;
    // Else there is an error to report.
    return caller.getFileName() === 'node:internal/process/per_thread' &&
      caller.getFunctionName() === 'exit' && process.reallyExit === reallyExit;
  } catch {
    return false;
  }
}

// The innermost frames, beginning with its own.
function callers() {
  if (globalThis.Error !== Error) throw new Error();
  const { stackTraceLimit } = Error;
  const prepare = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  try {
    Error.stackTraceLimit = 4;
    Error.prepareStackTrace = (_, frames) => frames;
    return new Error().stack;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    delete Error.prepareStackTrace;
    if (prepare) Object.defineProperty(Error, 'prepareStackTrace', prepare);
  }
}

function leave(word) {
  const code = process.exitCode & 255;
  try {
    // The program may have put something else there.
    const { dev, ino } = fstatSync(1);
    if (dev !== output.dev || ino !== output.ino) return;
    writeSync(1, `${word}${code}\n`);
  } catch {
    return;
  }
  Atomics.wait(clock, 0, 0, MOMENT_MS);
  reallyExit.call(process, code);
}
