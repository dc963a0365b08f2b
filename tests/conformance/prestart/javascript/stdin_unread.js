console.log('ignores it');
