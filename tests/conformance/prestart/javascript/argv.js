console.log(process.argv, process.execArgv, process.argv0, process.execPath, process.title);
console.log(process.cwd(), __filename, __dirname);
