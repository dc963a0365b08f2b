setTimeout(function later() {
  throw new RangeError('late');
}, 1);
setImmediate(() => console.log('immediate'));
