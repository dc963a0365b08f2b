setTimeout(() => console.log('timeout'), 0);
setImmediate(() => setImmediate(() => console.log('immediate')));
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
(async () => { console.log('async'); await 0; console.log('after await'); })();
console.log('main');
