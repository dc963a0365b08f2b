import add from "./add.js";

export const addAll = (numbers) => numbers.reduce(add, 0);
