// Starts the program named by the first argument as if node had been given it,
// except for two things. With --wait instead it says that it waits, and takes
// program, arguments and environment from standard input (sandbox/jail/job_frame.h).
//
// Node 18 takes main.js for CommonJS whatever it holds. Here, as in node 20.19
// and later, a program that does not compile as CommonJS because of `import`,
// `export`, `import.meta` or a top-level `await` runs as an ES module.
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');

takeCompiledBuiltins();
if (process.argv[2] === '--wait')
  awaitJob();
else
  process.argv.splice(1, 1);
const program = process.argv[1] = path.resolve(process.argv[1]);
delete require.cache[__filename];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  if (program.endsWith('.js') && isModule(fs.readFileSync(program, 'utf8')))
    markAsModule(program);
}

for (const name of ['stdout', 'stderr']) writeAtOnce(name);

// Called from here, this file would be in the program's stack traces.
process.nextTick(Module.runMain, program);

function awaitJob() {
  load('rehearse.cjs')();
  const tellEnd = load('tell_end.cjs');
  const { end, given, environment } = load('job_frame.cjs')();
  if (end !== null) tellEnd(end);
  process.argv.splice(1, Infinity, ...given);
  const names = new Set();
  for (const entry of environment) {
    const sign = entry.indexOf('=');
    const [name, value] = [entry.slice(0, sign), entry.slice(sign + 1)];
    names.add(name);
    // Some names act when they are set, whatever was there.
    if (process.env[name] !== value) process.env[name] = value;
  }
  for (const name of Object.keys(process.env))
    if (!names.has(name)) delete process.env[name];
}

// Not by require(), whose caches the program can see.
function load(name) {
  const part = new Module(path.join(__dirname, name));
  part._compile(fs.readFileSync(part.id, 'utf8'), part.id);
  return part.exports;
}

// Into a pipe node writes when there is room, and process.exit() drops the rest.
// Here output is written before the call returns, as it is to a file; and child
// processes don't find their standard output non-blocking.
function writeAtOnce(name) {
  const original = Object.getOwnPropertyDescriptor(process, name);
  Object.defineProperty(process, name, {
    ...original,
    get() {
      const stream = original.get.call(process);
      Object.defineProperty(process, name, original);
      stream._handle?.setBlocking?.(true);
      return stream;
    },
  });
}

// Node brings its own modules compiled, and V8 refuses them while a flag differs
// from when they were made, as the heap's limit does: a sixth of the start. The
// heap has its limit by now, and the flag is looked at again for workers only:
// theirs is then the jail's memory.
function takeCompiledBuiltins() {
  const { noDeprecation } = process;
  try {
    process.noDeprecation = true;
    // require('v8') would load half of node, not compiled.
    process.binding('v8').setFlagsFromString('--max-old-space-size=0');
  } catch {
    // Slower, no more.
  }
  process.noDeprecation = noDeprecation;
  if (noDeprecation === undefined) delete process.noDeprecation;
}

function isModule(source) {
  // Nearly every CommonJS program is told by this alone.
  if (!/\b(import|export|await)\b/.test(source)) return false;
  try {
    const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
    require('vm').compileFunction(source.replace(/^#!.*/, ''), parameters);
    return false;
  } catch (error) {
    // The stack begins with the line in question. An `await` that is none to
    // CommonJS makes for all kinds of messages.
    return /Cannot use|'export'|reserved word|\bawait\b/.test(error.stack);
  }
}

// Node decides by the nearest package.json, and reads that once: it need be there
// for a moment only. One that the program brought has the say.
function markAsModule(program) {
  const description = path.join(path.dirname(program), 'package.json');
  try {
    fs.writeFileSync(description, '{"type": "module"}', { flag: 'wx' });
  } catch {
    return;
  }
  try {
    // To resolve any name on the program's behalf, its package.json is read.
    Module.createRequire(program).resolve('-');
  } catch {
    // There is no package of that name.
  } finally {
    fs.unlinkSync(description);
  }
}
