const { builtinModules } = require('module');
console.log(builtinModules.join(' '));
for (const name of ['assert', 'buffer', 'crypto', 'dns', 'events', 'http', 'net', 'os', 'perf_hooks', 'stream',
  'tls', 'url', 'util', 'v8', 'vm', 'zlib', 'node:test'])
  console.log(name, Object.keys(require(name)).length);
console.log(require('net').Socket.prototype.hasOwnProperty('write'), Object.keys(require('module')).sort());
