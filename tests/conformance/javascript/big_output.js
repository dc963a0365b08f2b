const lines = Array.from({ length: 200_000 }, (_, n) => `line ${n}\n`);
process.stdout.write(lines.join(""));
