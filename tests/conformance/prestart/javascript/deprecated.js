console.log(new Buffer('text').toString('hex'));
console.log(require('util').isArray([]));
