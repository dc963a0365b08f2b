async function fails() {
  await null;
  throw new Error('rejected');
}
fails();
setTimeout(() => console.log('not reached'), 50);
