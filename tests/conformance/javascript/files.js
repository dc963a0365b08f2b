const fs = require("node:fs");

const text = fs.readFileSync("input.txt", "utf8");
fs.mkdirSync("out", { recursive: true });
fs.writeFileSync(
  "out/result.txt",
  text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
);
console.log("ok");
