// Descriptor 1 is a file when the program ends.
const fs = require('fs');
fs.closeSync(1);
const fd = fs.openSync('out.txt', 'w+');
fs.writeSync(fd, 'text');
process.on('beforeExit', () => console.error(fd, fs.readFileSync('out.txt', 'utf8')));
process.exitCode = 5;
