const { spawnSync } = require('child_process');
console.log('before');
spawnSync('/bin/sh', ['-c', 'echo child; echo error >&2; ls /proc/self/fd | wc -l'], { stdio: 'inherit' });
console.log('after');
