const value = await new Promise((resolve) => setTimeout(() => resolve(42), 2));
console.log(value);
for await (const each of [1, Promise.resolve(2)]) console.log(each);
export {};
