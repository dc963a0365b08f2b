function inner() {
  throw new TypeError('boom');
}
function outer() {
  inner();
}
outer();
