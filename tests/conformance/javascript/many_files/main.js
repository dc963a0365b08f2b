const { addAll } = require("./lib/adder");
const numbers = require("./numbers.json");

console.log("sum:", addAll(numbers));
