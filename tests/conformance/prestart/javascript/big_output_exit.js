for (let i = 0; i < 20000; i++) console.log(`line ${i}`);
process.stdout.write('x'.repeat(200000));
process.exit(2);
