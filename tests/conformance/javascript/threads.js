const { Worker, isMainThread, workerData } = require("node:worker_threads");

function addThousand(counter) {
  for (let i = 0; i < 1000; i += 1) {
    Atomics.add(counter, 0, 1);
  }
}

function run(counter) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: counter });
    worker.on("error", reject);
    worker.on("exit", resolve);
  });
}

async function main() {
  const counter = new Int32Array(new SharedArrayBuffer(4));
  await Promise.all(Array.from({ length: 4 }, () => run(counter)));
  console.log(counter[0]);
}

if (isMainThread) {
  main();
} else {
  addThousand(workerData);
}
