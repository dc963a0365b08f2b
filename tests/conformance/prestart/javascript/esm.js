import fs, { readFileSync } from 'node:fs';
console.log(fs.readFileSync === readFileSync, typeof require, typeof module, this);
console.log(import.meta.url, Object.keys(import.meta).sort());
export default 1;
