const fs = require('fs');
const kinds = fs.readdirSync('/proc/self/fd').map((fd) => {
  try { return `${fd} ${fs.readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/g, '')}`; } catch { return ''; }
});
console.log(kinds.filter((kind) => / pipe:| socket:/.test(kind)));
console.log(fs.fstatSync(0).isFIFO(), fs.fstatSync(1).isFIFO(), fs.openSync('/dev/null') < 30);
