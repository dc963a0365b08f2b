import { x } from './x.js';
console.log(x, typeof require);
