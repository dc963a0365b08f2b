const { EventEmitter } = require('events');
const { emit } = EventEmitter.prototype;
EventEmitter.prototype.emit = function (name, ...rest) {
  if (this === process && name === 'exit') console.log('exit', ...rest);
  return emit.call(this, name, ...rest);
};
