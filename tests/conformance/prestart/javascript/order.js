setTimeout(() => {
  console.log('timeout');
  setImmediate(() => console.log('immediate'));
}, 0);
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
(async () => { console.log('async'); await 0; console.log('after await'); })();
console.log('main');
