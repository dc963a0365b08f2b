async function deepest() {
  await new Promise((resolve) => setTimeout(resolve, 1));
  throw new Error('async');
}
async function middle() {
  await deepest();
}
middle().catch((error) => {
  console.log(error.stack);
  console.trace('trace');
  setImmediate(() => console.log(new Error('immediate').stack));
});
