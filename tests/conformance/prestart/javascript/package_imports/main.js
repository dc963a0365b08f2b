console.log(require('#inner'), require('program/self'));
