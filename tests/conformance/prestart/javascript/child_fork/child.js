process.send([process.argv.slice(1), process.execArgv]);
process.exitCode = 7;
process.disconnect();
