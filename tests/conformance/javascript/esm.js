import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const word = await sleep(5, "awaited");
console.log("top level:", word);

const file = fileURLToPath(import.meta.url);
const [firstLine] = readFileSync(file, "utf8").split("\n");
console.log("first line:", firstLine);
console.log("file:", basename(file));

const { sep } = await import("node:path");
console.log("dynamic import:", sep);
console.log("this:", this);
