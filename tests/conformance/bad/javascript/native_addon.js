const fs = require("node:fs");

fs.writeFileSync("garbage.node", Buffer.alloc(4096, "not an ELF file "));
console.log("written");
process.dlopen({ exports: {} }, `${process.cwd()}/garbage.node`);
console.log("never printed");
