import('node:path').then(({ default: path }) => console.log(path.join('a', 'b')));
import('./missing.mjs').catch((error) => console.log(error.code));
console.log('first');
