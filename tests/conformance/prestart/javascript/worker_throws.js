const { Worker } = require('worker_threads');
new Worker('throw new Error("in a worker")', { eval: true });
