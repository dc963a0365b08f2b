const { execFileSync, spawn, spawnSync } = require('child_process');
console.log(`${execFileSync(process.execPath, ['-p', 'process.argv.length'])}`);
const failed = spawnSync('/bin/sh', ['-c', 'echo out; echo err >&2; exit 3']);
console.log(failed.status, `${failed.stdout}`, `${failed.stderr}`);
const child = spawn('/bin/cat');
child.stdout.on('data', (data) => console.log(`${data}`));
child.on('close', (code, signal) => console.log(code, signal));
child.stdin.end('through cat');
