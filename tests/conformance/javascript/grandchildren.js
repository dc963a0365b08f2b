const { spawn } = require("node:child_process");

const child = spawn("sh", ["-c", "sleep 600 & sleep 600"], {
  detached: true,
  stdio: "inherit",
});
child.unref();
console.log("parent done");
