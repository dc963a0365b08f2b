const add = require("./add");

exports.addAll = (numbers) => numbers.reduce(add, 0);
