undeclared = 1;
console.log(globalThis.undeclared, (function () { return this === globalThis; })());
