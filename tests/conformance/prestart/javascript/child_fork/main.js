const child = require('child_process').fork('./child.js', ['argument']);
child.on('message', (message) => console.log(message));
child.on('exit', (code) => console.log('exit', code));
