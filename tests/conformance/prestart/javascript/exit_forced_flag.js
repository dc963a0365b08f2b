// Says that it is about to exit, and then doesn't.
process._exiting = true;
console.log(process.emit('anything'));
setTimeout(() => console.log('later'), 1);
