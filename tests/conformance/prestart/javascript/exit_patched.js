// As libraries do that want to know of every end.
const { reallyExit } = process;
process.reallyExit = function (code) {
  console.log('reallyExit', code);
  reallyExit.call(process, 7);
};
process.exit(3);
