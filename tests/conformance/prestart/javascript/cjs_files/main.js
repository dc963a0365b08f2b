const helper = require('./lib/helper');
console.log(helper.greet('you'), require('./data.json'), require('./package-like'));
console.log(require('left'), require('left/extra'));
console.log(module.children.map((child) => [child.id, child.loaded, child.parent === module]));
console.log(Object.keys(require.cache));
console.log(helper.main === module, helper.filename);
try {
  require('./broken');
} catch (error) {
  console.log(error.name, error.message, error.stack.split('\n')[0]);
}
try {
  require('./missing');
} catch (error) {
  console.log(error.code, error.requireStack);
}
