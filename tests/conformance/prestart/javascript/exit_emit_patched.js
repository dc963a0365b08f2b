const { emit } = process;
process.emit = function (name, ...rest) {
  if (name === 'exit') {
    console.log('emit', name, ...rest);
    process.exitCode = 4;
  }
  return emit.call(this, name, ...rest);
};
console.log(Object.keys(process).includes('emit'));
