const path = require("node:path");

module.exports = { answer: 42 };

console.log("exports:", module.exports.answer);
console.log("main:", require.main === module);
console.log("file:", path.basename(__filename));
console.log("directory:", __dirname === path.dirname(__filename));
console.log("cached:", require(__filename).answer);
