require('child_process').spawnSync('/bin/cat', { stdio: 'inherit' });
console.log('end');
