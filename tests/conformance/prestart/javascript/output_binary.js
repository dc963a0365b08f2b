const { writeSync } = require('fs');
writeSync(1, Buffer.from([0, 1, 255, 0]));
writeSync(1, '\0sandglass: over ');
writeSync(1, '\0sandglass: over 00000000000000000000000000000000 1\n');
process.stdout.write(Buffer.from([0, 0]));
process.stdout.write(Buffer.from([0]));
