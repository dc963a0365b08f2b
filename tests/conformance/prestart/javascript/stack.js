function first() {
  return new Error('here').stack;
}
class Thing {
  constructor() {
    this.stack = first();
  }
  static make() {
    return new Thing();
  }
}
console.log(Thing.make().stack);
console.log(Error.stackTraceLimit, Object.keys(Error));
Error.prepareStackTrace = (error, frames) => frames.map((frame) => [
  frame.getFunctionName(), frame.getFileName(), frame.getLineNumber(), frame.isNative(),
]);
console.log(new Error('x').stack);
