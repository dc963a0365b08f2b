const { execSync } = require("node:child_process");

const output = execSync("/bin/echo child $((6*7))", { encoding: "utf8" });
process.stdout.write(`got: ${output}`);
