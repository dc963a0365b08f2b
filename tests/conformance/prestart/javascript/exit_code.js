console.log('leaving');
process.exit(3);
console.log('not reached');
