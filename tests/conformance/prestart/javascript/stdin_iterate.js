(async () => {
  for await (const chunk of process.stdin) console.log(`${chunk}`.length);
  const rl = require('readline/promises').createInterface({ input: process.stdin });
  rl.close();
})();
