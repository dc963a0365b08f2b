const size = 1024 * 1024;

process.stdout.write(`${"x".repeat(size - 1)}\n`);
process.exit(0);
