import { add } from './lib/add.mjs';
import * as everything from './lib/add.mjs';
import { createRequire } from 'node:module';
console.log(add(1, 2), everything, import.meta.url);
const require = createRequire(import.meta.url);
console.log(require('./lib/old.cjs'), require('./lib/data.json'));
console.log(await import('./lib/old.cjs'));
