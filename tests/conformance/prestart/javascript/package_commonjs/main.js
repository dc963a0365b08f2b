console.log(typeof require, require('./x.js'));
