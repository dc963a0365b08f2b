const assert = require("node:assert");
const { EventEmitter, once } = require("node:events");
const crypto = require("node:crypto");
const path = require("node:path");
const util = require("node:util");
const zlib = require("node:zlib");

// Math.random() takes no seed: a linear congruential generator stands in.
function* randomNumbers(seed) {
  let state = BigInt(seed);
  for (;;) {
    state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
    yield Number(state >> 33n) % 100;
  }
}

class City {
  #population;

  constructor(name, population) {
    this.name = name;
    this.#population = population;
  }

  get population() {
    return this.#population;
  }

  toJSON() {
    return { name: this.name, population: this.#population };
  }
}

const cities = [new City("Zürich", 443), new City("Bern", 137), new City("Aarau", 22)];
console.log("sorted:", cities.map((city) => city.name).sort().join(" "));
console.log("locale:", ["z", "ä", "a"].sort(new Intl.Collator("de").compare).join(" "));
console.log("json:", JSON.stringify({ cities }));
console.log("parsed:", JSON.parse('{"a": [1, {"b": null}], "c": "\\u00fc"}'));

const counts = new Map();
for (const word of "the quick fox and the lazy dog and the cat".split(" ")) {
  counts.set(word, (counts.get(word) ?? 0) + 1);
}
console.log("counts:", [...counts].filter(([, count]) => count > 1));
console.log("set:", [...new Set([3, 1, 3, 2, 1])]);

const { groups } = "2024-02-29".match(/(?<year>\d+)-(?<month>\d+)-(?<day>\d+)/);
console.log("regex:", groups.year, groups.month, groups.day);
console.log("replace:", "a1 b20 c300".replace(/\d+/g, (digits) => digits * 2));
console.log("matches:", [..."x1y22".matchAll(/\d+/g)].map((m) => m.index));

const date = new Date(Date.UTC(2024, 1, 29, 12, 30));
console.log("date:", date.toISOString(), date.getUTCDay());
const long = { dateStyle: "long", timeZone: "Europe/Berlin" };
console.log("intl:", new Intl.DateTimeFormat("en-GB", long).format(date));
console.log("number:", new Intl.NumberFormat("en-US").format(1234567.891));

console.log("math:", Math.hypot(3, 4), Math.cbrt(27), Math.PI.toFixed(10));
console.log("big:", 2n ** 200n);
console.log("hex:", (255).toString(16).padStart(4, "0"), parseInt("zz", 36));
console.log("flat:", [1, [2, [3, [4]]]].flat(Infinity).at(-1));
console.log("reduce:", [1, 2, 3, 4].reduce((a, b) => a * b));
const { a, ...others } = { a: 1, b: 2, c: 3 };
console.log("spread:", a, { ...others, d: 4 });
console.log("clone:", structuredClone({ when: date }).when.getTime() === date.getTime());

const generator = randomNumbers(42);
console.log("random:", Array.from({ length: 5 }, () => generator.next().value));

console.log("util:", util.format("%s=%d %j", "n", 42, { ok: true }));
console.log("path:", path.join("/a", "..", "b", "c.txt"), path.extname("c.txt"));
console.log("url:", new URL("https://example.org/a?x=1&y=2").searchParams.get("y"));
assert.deepStrictEqual([1, { b: 2 }], [1, { b: 2 }]);

console.log("base64:", Buffer.from("Grüße").toString("base64"));
console.log("sha256:", crypto.createHash("sha256").update("sandglass").digest("hex"));
console.log("zlib:", zlib.gunzipSync(zlib.gzipSync("round trip")).toString());

async function asynchronous() {
  const emitter = new EventEmitter();
  setImmediate(() => emitter.emit("ready", "event"));
  const [name] = await once(emitter, "ready");
  const settled = await Promise.allSettled([name, Promise.reject(new Error("no"))]);
  console.log("promises:", settled.map((result) => result.status).join(" "));
}

asynchronous();
