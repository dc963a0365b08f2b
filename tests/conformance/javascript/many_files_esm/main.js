import { addAll } from "./lib/adder.js";
import numbers from "./numbers.mjs";

console.log("sum:", addAll(numbers));
