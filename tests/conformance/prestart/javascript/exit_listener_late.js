// What a listener of 'exit' leaves behind, and what it emits itself.
process.once('exit', () => {
  process.nextTick(() => console.log('tick'));
  Promise.resolve().then(() => console.log('microtask')).then(() => console.log('another'));
  process.emit('custom');
});
process.on('custom', () => console.log('custom', process.listenerCount('exit')));
console.log('main');
