import 'node:path';
function thrower() {
  throw new Error('in a module');
}
thrower();
