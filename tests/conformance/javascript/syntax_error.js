console.log("never printed");
console.log("nor is this");
const total = = 3;
console.log(total);
