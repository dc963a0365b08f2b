console.log('run 0');
