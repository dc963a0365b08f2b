setTimeout(function later() {
  throw new RangeError('late');
}, 1);
