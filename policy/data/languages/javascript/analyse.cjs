// Prints facts about the JavaScript files named by its arguments, of which the
// first is the program's own (docs/analysers.md). With node's own parser, for
// which it is started with --expose-internals; it runs nothing of the program.
// With --wait it says that it waits, and is told the files then.
'use strict';

const fs = require('fs');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const Facts = require('./analyse_facts.cjs');
const {Names, REQUIRES, children, keyOf} = require('./analyse_names.cjs');
const awaitJob = require('./job_frame.cjs');

const EXITS = new Set(['process.exit', 'process.abort', 'process.reallyExit']);
const FILE_FUNCTION = /^fs(?:\.promises|\/promises)?\.(\w+)$/;
const WRITES = /^(?:writeFile|appendFile|truncate|copyFile)(?:Sync)?$|^createWriteStream$/;
const NEVER = Infinity;
// More would cost its start more than they take off a look.
const ROUNDS = 2;
const SAMPLE = `
  import fs, {readFile as read} from 'node:fs';
  export * from 'os';
  export class Box extends Map { static count = 0; async *all() { yield await this; } }
  const {a, b: [c = 1, ...d]} = await import('x' + y);
  do { if (read?.(fs.open('f', 'w'))) continue; else break; } while (a);
  for await (const x of d) label: while (true) { try { break label; } finally { c(); } }
`;

function parse(source, name) {
  const options = {
    ecmaVersion: 'latest', allowHashBang: true, allowReturnOutsideFunction: true,
  };
  // What node would take it for (start.cjs).
  if (name.endsWith('.mjs')) return acorn.parse(source, {...options, sourceType: 'module'});
  try {
    return acorn.parse(source, {...options, sourceType: 'script'});
  } catch (error) {
    if (name.endsWith('.cjs') || !/\b(import|export|await)\b/.test(source)) throw error;
  }
  return acorn.parse(
      source, {...options, sourceType: 'module', allowReturnOutsideFunction: false});
}

class Analyser {
  constructor(source, program, facts) {
    this.source = source;
    this.facts = facts;
    this.names = new Names(program);
    // What a jump can leave, innermost last: each with its labels and the lowest
    // of them that some jump in it leaves.
    this.frames = [];
    this.labels = [];
    this.look(program, null);
  }

  look(node, outer) {
    const scope = this.names.scopes.get(node) ?? outer;
    const special = this[node.type];
    if (special === undefined) {
      for (const child of children(node)) this.look(child, scope);
    } else {
      special.call(this, node, scope);
    }
  }

  lookAtAll(nodes, scope) {
    for (const node of nodes) {
      if (node) this.look(node, scope);
    }
  }

  use(node, name) {
    this.facts.tell('use', node.start, name);
    const [, file] = FILE_FUNCTION.exec(name) ?? [];
    if (file !== undefined && WRITES.test(file)) {
      this.facts.tell('open-write', node.start, name);
    }
  }

  // Names.

  Identifier(node, scope) {
    const name = this.names.resolve(node, scope);
    if (name !== null) this.use(node, name);
  }

  MemberExpression(node, scope) {
    const name = this.names.resolve(node, scope);
    if (node.computed) this.look(node.property, scope);
    if (name !== null) this.use(node, name);
    for (let root = node.object;; root = root.object) {
      if (root.type === 'MemberExpression' && name !== null) {
        if (root.computed) this.look(root.property, scope);
      } else {
        if (name === null || !/^(Identifier|MetaProperty)$/.test(root.type)) {
          this.look(root, scope);
        }
        return;
      }
    }
  }

  MetaProperty(node, scope) {
    if (node.meta.name === 'import') this.use(node, this.names.resolve(node, scope));
  }

  CallExpression(node, scope) {
    const {name, given} = this.names.call(node, scope);
    if (REQUIRES.has(name)) this.imported(node, name, given[0], scope);
    if (EXITS.has(name)) this.jump(0);
    if (name !== null) this.opened(node, name, given, scope);
    this.called(node.callee, scope);
    this.lookAtAll(node.arguments, scope);
  }

  NewExpression(node, scope) {
    this.called(node.callee, scope);
    this.lookAtAll(node.arguments, scope);
  }

  called(callee, scope) {
    if (callee.type === 'MemberExpression' &&
        this.names.resolve(callee, scope) === null) {
      const name = this.names.property(callee, scope);
      if (/^(call|apply|bind)$/.test(name)) return this.called(callee.object, scope);
      if (name !== null) this.facts.tell('use', callee.property.start, `?.${name}`);
    }
    this.look(callee, scope);
  }

  opened(node, name, given, scope) {
    const [, file] = FILE_FUNCTION.exec(name) ?? [];
    if (!/^open(Sync)?$/.test(file)) return;
    const flags = given[1];
    if (flags === undefined || /Function/.test(flags.type)) return;
    const mode = this.names.constant(flags, scope);
    if (mode === null) {
      if (this.names.resolve(flags, scope) !== 'fs.constants.O_RDONLY') {
        this.facts.tell('open-write', node.start, name, 'mode unknown');
      }
    } else if (/[wa+]/.test(mode)) {
      this.facts.tell('open-write', node.start, name, mode);
    }
  }

  // Imports.

  imported(node, how, what, scope) {
    const name = this.names.constant(what, scope);
    if (name === null) {
      this.facts.tell('import-unknown', node.start, how);
    } else {
      this.facts.tell('import', node.start, this.names.module(name));
    }
  }

  ImportExpression(node, scope) {
    this.imported(node, 'import', node.source, scope);
    this.look(node.source, scope);
  }

  ImportDeclaration(node, scope) {
    const name = this.from(node);
    for (const {type, imported, start} of node.specifiers) {
      const part = type === 'ImportSpecifier' ? imported.name ?? imported.value : 'default';
      if (part !== 'default') this.use({start}, `${name}.${part}`);
    }
  }

  ExportNamedDeclaration(node, scope) {
    if (node.declaration) this.look(node.declaration, scope);
    if (!node.source) return;
    const name = this.from(node);
    for (const {local, start} of node.specifiers) {
      const part = local.name ?? local.value;
      if (part !== 'default') this.use({start}, `${name}.${part}`);
    }
  }

  ExportAllDeclaration(node) { this.from(node); }

  from({start, source}) {
    const name = this.names.module(String(source.value));
    this.facts.tell('import', start, name);
    return name;
  }

  // What binds names, which are no uses of them.

  VariableDeclarator({id, init}, scope) {
    if (init) this.look(init, scope);
    this.pattern(id, scope, init && this.names.resolve(init, scope));
  }

  AssignmentExpression({left, right}, scope) {
    this.look(right, scope);
    this.pattern(left, scope, this.names.resolve(right, scope));
  }

  // `value` is the name of what it takes apart, or null.
  pattern(node, scope, value) {
    switch (node?.type) {
      case 'MemberExpression':
        this.look(node, scope);
        break;
      case 'AssignmentPattern':
        this.pattern(node.left, scope, value);
        this.look(node.right, scope);
        break;
      case 'RestElement':
        this.pattern(node.argument, scope, null);
        break;
      case 'ArrayPattern':
        for (const element of node.elements) this.pattern(element, scope, null);
        break;
      case 'ObjectPattern':
        for (const property of node.properties) this.part(property, scope, value);
        break;
    }
  }

  part(property, scope, value) {
    if (property.type === 'RestElement') return this.pattern(property, scope, null);
    if (property.computed) this.look(property.key, scope);
    const key = keyOf(property);
    const name = value && key !== null ? this.names.join(value, key) : null;
    const {type, left} = property.value;
    const last = type === 'AssignmentPattern' ? left.type : type;
    if (name && last !== 'ObjectPattern') this.use(property, name);
    this.pattern(property.value, scope, name);
  }

  Property(node, scope) {
    if (node.computed) this.look(node.key, scope);
    if (node.value) this.look(node.value, scope);
  }

  MethodDefinition(node, scope) { this.Property(node, scope); }
  PropertyDefinition(node, scope) {
    if (node.computed) this.look(node.key, scope);
    if (node.value) this.apart(() => this.look(node.value, scope));
  }
  StaticBlock(node, scope) { this.apart(() => this.lookAtAll(node.body, scope)); }

  CatchClause(node, scope) {
    this.pattern(node.param, scope, null);
    this.look(node.body, scope);
  }

  ClassDeclaration(node, scope) {
    if (node.superClass) this.look(node.superClass, scope);
    this.look(node.body, scope);
  }
  ClassExpression(node, scope) { this.ClassDeclaration(node, scope); }

  FunctionDeclaration(node, scope) {
    this.apart(() => {
      for (const parameter of node.params) {
        const given = parameter === node.params[0] && node.given;
        this.pattern(parameter, scope, given ? this.names.resolve(given, scope) : null);
      }
      this.look(node.body, scope);
    });
  }
  FunctionExpression(node, scope) { this.FunctionDeclaration(node, scope); }
  ArrowFunctionExpression(node, scope) { this.FunctionDeclaration(node, scope); }

  // Loops, and what leaves them.

  // Jumps in a function leave nothing outside it.
  apart(look) {
    const {frames, labels} = this;
    this.frames = [];
    this.labels = [];
    look();
    this.frames = frames;
    this.labels = labels;
  }

  // Whether a jump leaves what `look` looks at.
  framed(kind, look) {
    const frame = {kind, labels: this.labels, target: NEVER};
    this.labels = [];
    this.frames.push(frame);
    look();
    this.frames.pop();
    const depth = this.frames.length;
    if (depth > 0) this.jump(frame.target);
    return frame.target <= depth;
  }

  // Everything from that depth on is left.
  jump(depth) {
    const frame = this.frames[this.frames.length - 1];
    if (frame !== undefined) frame.target = Math.min(frame.target, depth);
  }

  findFrame(fits) {
    for (let i = this.frames.length - 1; i >= 0; i--) {
      if (fits(this.frames[i])) return i;
    }
    return NEVER;
  }

  loop(node, test, parts, scope, text) {
    const left = this.framed('loop', () => this.lookAtAll(parts, scope));
    if (!left && this.alwaysTrue(test)) {
      this.facts.tell('endless-loop', node.start, text(this.textOf(test)));
    }
  }

  alwaysTrue(test) {
    switch (test?.type) {
      case undefined: return true;
      case 'Literal': return Boolean(test.value ?? test.bigint ?? test.regex);
      case 'TemplateLiteral': return test.quasis.some(({value}) => value.raw !== '');
      case 'ArrayExpression':
      case 'ObjectExpression': return true;
      case 'UnaryExpression':
        return test.operator === '!' && test.argument.type === 'Literal' &&
            !this.alwaysTrue(test.argument);
    }
    return false;
  }

  textOf(node) {
    if (!node) return '';
    return this.source.slice(node.start, Math.min(node.end, node.start + 200))
        .replace(/\s+/g, ' ');
  }

  WhileStatement(node, scope) {
    const {test, body} = node;
    this.loop(node, test, [test, body], scope, (text) => `while (${text})`);
  }
  DoWhileStatement(node, scope) {
    const {test, body} = node;
    this.loop(node, test, [body, test], scope, (text) => `do while (${text})`);
  }
  ForStatement(node, scope) {
    const {init, test, update, body} = node;
    this.loop(node, test, [init, test, update, body], scope, (text) => `for (;${text};)`);
  }
  ForInStatement({left, right, body}, scope) {
    this.look(right, scope);
    if (left.type === 'VariableDeclaration') this.look(left, scope);
    else this.pattern(left, scope, null);
    this.framed('loop', () => this.look(body, scope));
  }
  ForOfStatement(node, scope) { this.ForInStatement(node, scope); }
  SwitchStatement({discriminant, cases}, scope) {
    this.look(discriminant, scope);
    this.framed('switch', () => this.lookAtAll(cases, scope));
  }

  LabeledStatement({label, body}, scope) {
    const labels = [...this.labels, label.name];
    this.labels = labels;
    // A loop takes the label; anything else is left by name alone.
    if (/^(While|DoWhile|For|ForIn|ForOf|Switch|Labeled)Statement$/.test(body.type)) {
      this.look(body, scope);
    } else {
      this.framed('block', () => this.look(body, scope));
    }
  }

  BreakStatement({label}) {
    this.jump(this.findFrame(({kind, labels}) =>
        label ? labels.includes(label.name) : kind !== 'block'));
  }
  ContinueStatement({label}) {
    if (label) this.jump(this.findFrame(({labels}) => labels.includes(label.name)) + 1);
  }
  ReturnStatement({argument}, scope) { this.leaving(argument, scope); }
  ThrowStatement({argument}, scope) { this.leaving(argument, scope); }
  YieldExpression({argument}, scope) { this.leaving(argument, scope); }

  leaving(argument, scope) {
    this.jump(0);
    if (argument) this.look(argument, scope);
  }
}

// `sources`: of each file its name and a function that reads it.
function factsOf(sources) {
  const facts = new Facts();
  for (const [name, read] of sources) {
    const source = read().replace(/^\ufeff/, '');
    facts.begin(source);
    let program;
    try {
      program = parse(source, name);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const message = error.message.replace(/ \(\d+:\d+\)$/, '');
      facts.tell('syntax-error', error.pos ?? 0, message);
      break;
    }
    new Analyser(source, program, facts);
  }
  return Buffer.from(facts.text());
}

const fromFiles = (names) => names.map((name) => [name, () => fs.readFileSync(name, 'utf8')]);

// Most of its code, and node's, has then run when the program comes, and some is
// compiled. Nothing of it is kept.
function rehearse() {
  for (let i = 0; i < ROUNDS; i++) {
    factsOf([['main.js', () => SAMPLE]]);
    factsOf([['main.js', () => 'x = (']]);
  }
}

// A pipe may take a part only.
function writeAll(bytes) {
  for (let at = 0; at < bytes.length;) at += fs.writeSync(1, bytes, at);
}

let files = process.argv.slice(2);
let end = null;
try {
  if (files[0] === '--wait') {
    rehearse();
    ({end, given: files} = awaitJob());
  }
  if (files.length === 0) throw new Error('usage: analyse.cjs FILE… | --wait');
  writeAll(factsOf(fromFiles(files)));
} catch (error) {
  fs.writeSync(2, `the program can't be analysed: ${error.message}\n`);
  process.exitCode = 1;
}
// Nobody need wait until node has taken itself down.
if (end !== null) fs.writeSync(1, `${end}${process.exitCode ?? 0}\n`);
