process.kill(process.pid, 'SIGTERM');
setTimeout(() => console.log('not reached'), 2000);
