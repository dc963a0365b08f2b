process.on('exit', (code) => {
  console.log('exit', code, process.exitCode);
  setTimeout(() => console.log('never'), 0);
  process.exitCode = 9;
});
process.on('beforeExit', (code) => console.log('beforeExit', code));
console.log('main');
