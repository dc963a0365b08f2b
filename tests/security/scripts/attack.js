// In JavaScript: what node itself can do, and its children.
'use strict';
const {spawnSync} = require('child_process');
const fs = require('fs');
const net = require('net');
const [directory, stream, abstract, port, pid] = process.argv.slice(2);
let made = 0;

function through(name, result) {
  console.error(name, 'went through:', result);
  process.exit(43);
}
function refused(name, action) {
  ++made;
  let result;
  try {
    result = action();
  } catch {
    return;
  }
  if (result !== false) through(name, result);
}
for (const path of ['/etc/passwd', process.execPath, '/proc/self/mem', '/proc/self/exe',
  '/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', directory + '/file']) {
  refused('write ' + path, () => fs.writeSync(fs.openSync(path, 'r+'), 'x'));
}
for (const path of ['/etc/shadow', '/proc/1/environ', '/proc/kcore', '/proc/1/root/etc/passwd',
  '/dev/mem', directory + '/file', '/proc/keys']) {
  refused('read ' + path, () => fs.readFileSync(path).length > 0);
}
refused('bait', () => process.kill(Number(pid), 'SIGKILL'));
refused('init', () => process.kill(1, 'SIGKILL'));
refused('setuid', () => process.setuid(0));
refused('priority', () => require('os').setPriority(0, -5));
refused('inspector of another', () => process._debugProcess(1));
refused('addon', () => process.dlopen({exports: {}}, directory + '/file'));
for (const command of ['unshare -Ur true', 'mount -t tmpfs x /tmp', 'su -c true']) {
  refused(command, () => spawnSync('sh', ['-c', command]).status === 0);
}
const addresses = [{path: stream}, {path: '\0' + abstract.slice(1)},
  {host: '127.0.0.1', port: Number(port)}, {host: '::1', port: Number(port)},
  {host: '192.0.2.1', port: 80}, {host: '169.254.169.254', port: 80}];
let waiting = addresses.length;
for (const address of addresses) {
  ++made;
  const socket = net.connect(address);
  socket.on('connect', () => through('connect', address));
  socket.on('error', () => {
    if (--waiting === 0) process.exit(made === 29 ? 42 : 44);
  });
}
