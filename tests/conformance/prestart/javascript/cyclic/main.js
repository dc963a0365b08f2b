exports.early = 1;
const b = require('./b');
exports.late = 2;
console.log(b.saw, require('./b').again());
