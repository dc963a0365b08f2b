// Goes once through what most programs use, so that a program for which node
// waited finds it loaded, linked and partly compiled. It must leave nothing that a
// program could see, write nothing, and touch neither process.stdout and its like,
// which node makes when they are first asked for, nor anything in the program's
// directory: node remembers which package.json is not there.
'use strict';

const fs = require('fs');
const Module = require('module');
const net = require('net');
const { Writable } = require('stream');

const SAMPLE = `
  const path = require('path');
  class Shape {
    #side = 2;
    get area() { return this.#side ** 2; }
    toString() { return \`\${path.basename('a/shape')} \${this.area}\`; }
  }
  const counts = new Map();
  for (const word of 'a b a'.split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  const { first, ...rest } = JSON.parse(JSON.stringify({ first: 1, second: [2, null] }));
  'x-1'.replace(/(\\w)-(\\d)/g, (whole, letter) => letter.toUpperCase());
  exports.values = [new Shape(), counts, new Set([1]), sorted, first, rest, \`\${new Shape()}\`];
  exports.wait = async () => {
    try {
      await Promise.all([null, Promise.resolve(1)]);
      throw new TypeError('sample');
    } catch (error) {
      return error.message;
    } finally {
      clearTimeout(setTimeout(() => {}, 1000));
    }
  };
`;

module.exports = function rehearse() {
  const sample = new Module('/sandglass.cjs', null);
  sample.filename = sample.id;
  sample._compile(SAMPLE, sample.filename);
  sample.exports.wait();
  const sink = new Writable({ write(chunk, encoding, done) { done(); } });
  say(new console.Console(sink), sample.exports.values);
  writeNothing();
  importNothing();
};

function say(console, values) {
  console.log('text');
  console.log('%s %d %j', 'text', 1, {}, { a: 1, b: ['x', null, undefined, true] });
  console.log(...values, [1.5, -0, 10n, Symbol('s'), () => {}, new Date(0), /x/g]);
  console.error(new Error('sample'));
  console.table([{ a: 1 }]);
}

// What becomes of process.stdout when it is a pipe. Opened anew, it shares no
// flags with the pipe's descriptors that are there.
function writeNothing() {
  let fd;
  try {
    fd = fs.openSync('/proc/self/fd/1', 'w');
    const socket = new net.Socket({ fd, readable: false, writable: true });
    socket._handle?.setBlocking?.(true);
    socket.write('');
    // It is closed when the event loop runs, and counted as active until then.
    socket.unref();
    socket.destroy();
  } catch {
    // Standard output is no pipe, then it is another's loss.
    if (fd !== undefined) fs.closeSync(fd);
  }
}

// The loader of ES modules; its promises are settled here and now.
function importNothing() {
  import('data:text/javascript,import "node:fs"; export default await 1;').catch(() => {});
  for (let i = 0; i < 20; i++) process._tickCallback?.();
}
