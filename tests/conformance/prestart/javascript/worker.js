const { Worker, isMainThread, parentPort, workerData, threadId } = require('worker_threads');
if (isMainThread) {
  const worker = new Worker(__filename, { workerData: 20, argv: ['x'] });
  worker.on('message', (message) => console.log(message));
  worker.on('exit', (code) => console.log('worker ended', code, threadId));
} else {
  parentPort.postMessage([workerData + 1, process.argv]);
}
