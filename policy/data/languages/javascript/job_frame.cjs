// How node that was started ahead of its job says that it waits, and then learns
// what it is to do (sandbox/jail/job_frame.h).
'use strict';

const fs = require('fs');

// What it is given: `end`, to be written to standard output after everything else,
// with the exit code and a line feed, or null; arguments; the environment, as
// "NAME=value".
module.exports = function awaitJob() {
  fs.writeSync(1, 'sandglass: waiting\n');
  const frame = readFromInput(readFromInput(4).readUInt32BE()).toString();
  const [secret, ...words] = frame.split('\0');
  const last = 1 + Number(words[0]);
  return {
    end: secret === '' ? null : `\0sandglass: over ${secret} `,
    given: words.slice(1, last),
    environment: words.slice(last, -1),
  };
};

// Reads no byte more: what follows is the program's.
function readFromInput(size) {
  const bytes = Buffer.alloc(size);
  for (let have = 0; have < size;) {
    const got = fs.readSync(0, bytes, have, size - have, null);
    // The jail is nobody's any more.
    if (got === 0) process.exit(0);
    have += got;
  }
  return bytes;
}
