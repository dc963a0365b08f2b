const readline = require('readline').createInterface({ input: process.stdin, output: process.stdout });
readline.question('name? ', (name) => {
  console.log('hello', name);
  readline.close();
});
