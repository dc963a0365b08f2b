const a = require('./main');
exports.saw = { ...a };
exports.again = () => ({ ...a });
