let left = 3;
process.on('beforeExit', () => {
  if (left-- > 0) setTimeout(() => console.log('again', left), 1);
});
