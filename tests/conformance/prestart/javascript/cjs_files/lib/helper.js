exports.greet = (name) => `hello ${name}`;
exports.main = require.main;
exports.filename = __filename;
