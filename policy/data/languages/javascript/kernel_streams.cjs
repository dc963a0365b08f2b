// The standard streams of the JavaScript kernel's cells.
'use strict';

const fs = require('fs');
const {Writable} = require('stream');

// Kept, because a cell may put others in their place.
const {closeSync, fstatSync, openSync, unlinkSync, writeFileSync, writeSync} = fs;
const {pid} = process;

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
// more. What a cell has closed, or turned to another file, is as it was.
function repairOutputs(interrupted) {
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    repairDescriptor(fd);
    if (interrupted || process[name]?.writable !== true) openOutput(name, fd);
  }
}

// Further descriptors of the same files: node can't make copies. Where they can't
// be opened, as sockets, nothing is repaired.
const files = new Map();
for (const fd of [1, 2]) {
  try {
    const other = openSync(`/proc/self/fd/${fd}`, 'w');
    files.set(fd, {other, ...fstatSync(other)});
  } catch {
    // See above.
  }
}

function repairDescriptor(fd) {
  const file = files.get(fd);
  if (file === undefined) return;
  try {
    const {dev, ino} = fstatSync(fd);
    if (dev === file.dev && ino === file.ino) return;
    closeSync(fd);
  } catch {
    // A cell has closed it.
  }
  // The lowest free number is the one that was closed.
  openSync(`/proc/self/fd/${file.other}`, 'w');
}

// A cell's standard input. What is opened next has the lowest free number.
let input = null;  // its stream, once the cell has asked for that
function setInput(content, count) {
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

module.exports = {repairOutputs, setInput, writeAll};
