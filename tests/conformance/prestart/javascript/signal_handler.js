process.on('SIGUSR2', () => { console.log('got it'); clearInterval(keep); });
const keep = setInterval(() => {}, 1000);
process.kill(process.pid, 'SIGUSR2');
