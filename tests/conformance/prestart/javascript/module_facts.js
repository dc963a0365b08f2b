console.log(module, require.main === module, this === module.exports, exports === module.exports);
console.log(Object.keys(require.cache), Object.keys(require.extensions), require.resolve.paths('x'));
console.log(typeof require, arguments.length, module.parent, module.constructor.globalPaths);
console.log(Object.keys(require('module')._pathCache));
