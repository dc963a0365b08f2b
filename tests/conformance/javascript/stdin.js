const readline = require("node:readline");

let count = 0;
const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  console.log([...line].length);
  count += 1;
});
lines.on("close", () => console.log(`lines: ${count}`));
