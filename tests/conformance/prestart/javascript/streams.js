console.log(process.stdout.constructor.name, process.stdout._type, process.stdout.fd, process.stdout.isTTY);
console.log(process.stderr.constructor.name, process.stderr._type, process.stderr.fd, process.stdout.writable);
console.log(process.stdout.writableHighWaterMark, process.stdout.columns, process.stdout.listenerCount('error'));
console.log(process.stdout.write('text\n'), process.stdout.destroyed);
process.stdout.on('finish', () => console.error('finish'));
process.stdout.end('end\n');
