#!/usr/bin/env node
console.log(new Error("line").stack.split("\n")[1]);
