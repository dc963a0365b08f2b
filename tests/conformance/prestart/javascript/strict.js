'use strict';
console.log((function () { return this; })());
undeclared = 1;
