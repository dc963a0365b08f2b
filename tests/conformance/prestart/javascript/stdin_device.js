const text = require('fs').readFileSync('/dev/stdin', 'utf8');
console.log(JSON.stringify(text));
