const { Worker } = require('worker_threads');
const worker = new Worker('setInterval(() => {}, 1000)', { eval: true });
worker.on('online', () => { console.log('online'); process.exit(6); });
