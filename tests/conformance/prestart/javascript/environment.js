const names = Object.keys(process.env).filter((name) => name !== 'UV_USE_IO_URING').sort();
console.log(names.map((name) => `${name}=${process.env[name]}`));
process.env.ADDED = 1;
delete process.env.LOGNAME;
console.log(process.env.ADDED, process.env.LOGNAME, 'PATH' in process.env);
const { execFileSync } = require('child_process');
console.log(`${execFileSync('/bin/sh', ['-c', 'echo $ADDED-$LOGNAME-$HOME-$GREETING'])}`);
