process.on('uncaughtException', (error, origin) => {
  console.log('caught', error.message, origin);
  process.exitCode = 5;
});
setTimeout(() => console.log('goes on'), 5);
throw new Error('boom');
