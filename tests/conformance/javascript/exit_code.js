console.log("leaving");
process.exit(7);
