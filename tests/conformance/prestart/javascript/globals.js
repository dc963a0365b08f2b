console.log(Object.getOwnPropertyNames(globalThis).sort().join(' '));
console.log(Object.keys(globalThis).join(' '));
for (const type of [Object, Array, Map, Set, Promise, Function, RegExp, Error, String])
  console.log(type.name, Reflect.ownKeys(type).length, Reflect.ownKeys(type.prototype).length);
