const fs = require('fs');
console.log(fs.readdirSync('.').sort(), fs.readdirSync('/tmp'), fs.readdirSync(process.env.HOME));
fs.writeFileSync('made.txt', 'made');
console.log(fs.statSync('made.txt').mode.toString(8), fs.readFileSync('made.txt', 'utf8'));
fs.promises.readFile('made.txt', 'utf8').then((text) => {
  console.log(text);
  fs.createReadStream('made.txt').pipe(process.stdout);
});
