// Makes of a cell's code a script whose declarations stay: they become the
// global object's, where the next cell may declare them again. With `await` or
// `import` outside functions, or `return`, it is a script whose value is a
// promise.
'use strict';

const {createRequire, isBuiltin} = require('module');
const {pathToFileURL} = require('url');

const IMPORT = 'globalThis[Symbol.for("sandglass.import")]';
const META = 'globalThis[Symbol.for("sandglass.meta")]';

let acorn = null;
try {
  // Node's own, for which it is started with --expose-internals.
  acorn = require('internal/deps/acorn/acorn/dist/acorn');
} catch {
  // Code runs as it is.
}

// As from a file in the working directory.
function importFromHere(specifier) {
  const name = String(specifier);
  const here = pathToFileURL(`${process.cwd()}/`);
  if (/^\.{0,2}\//.test(name)) return import(new URL(name, here));
  if (isBuiltin(name) || /^[a-z]+:/.test(name)) return import(name);
  return import(pathToFileURL(createRequire(here).resolve(name)));
}
Object.defineProperty(globalThis, Symbol.for('sandglass.import'), {
  value: (name) => new Promise((resolve) => resolve(importFromHere(name))),
});

// What import.meta is in a cell.
Object.defineProperty(globalThis, Symbol.for('sandglass.meta'), {
  get() {
    const filename = globalThis.__filename;
    const {resolve} = createRequire(filename);
    return {
      __proto__: null,
      dirname: globalThis.__dirname,
      filename,
      resolve: (name) => isBuiltin(name) ? `node:${name.replace(/^node:/, '')}` :
          String(pathToFileURL(resolve(name))),
      url: String(pathToFileURL(filename)),
    };
  },
});

function parse(code) {
  return acorn.parse(code, {
    ecmaVersion: 'latest',
    allowAwaitOutsideFunction: true,
    allowImportExportEverywhere: true,
    allowReturnOutsideFunction: true,
  });
}

const FUNCTIONS = new Set([
  'FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression',
]);

// Calls `visit` with every node, and whether it is in a function.
function walk(root, visit) {
  const stack = [[root, false]];
  while (stack.length > 0) {
    const [node, inside] = stack.pop();
    visit(node, inside);
    const within = inside || FUNCTIONS.has(node.type) ||
        node.type === 'PropertyDefinition' || node.type === 'StaticBlock';
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (typeof child?.type === 'string') stack.push([child, within]);
      }
    }
  }
}

// The names that a pattern binds.
function namesIn(pattern, names) {
  if (pattern === null) return;
  if (pattern.type === 'Identifier') names.push(pattern.name);
  if (pattern.type === 'AssignmentPattern') namesIn(pattern.left, names);
  if (pattern.type === 'RestElement') namesIn(pattern.argument, names);
  if (pattern.type === 'ArrayPattern') {
    for (const element of pattern.elements) namesIn(element, names);
  }
  if (pattern.type === 'ObjectPattern') {
    for (const property of pattern.properties) {
      namesIn(property.value ?? property, names);
    }
  }
}

class Rewriter {
  constructor(code, program) {
    this.code = code;
    this.program = program;
    this.edits = [];  // [begin, end, text]
    this.names = [];
    this.functions = [];
    this.awaits = false;
    this.waits = false;  // its value is a promise
    walk(program, (node, inside) => this.look(node, inside));
  }

  look(node, inside) {
    if (node.type === 'ImportExpression') {
      this.edit(node.start, node.start + 'import'.length, IMPORT);
    }
    if (node.type === 'MetaProperty' && node.meta.name === 'import') {
      this.edit(node.start, node.end, META);
    }
    const awaits = node.type === 'AwaitExpression' ||
        node.type === 'ImportDeclaration' ||
        (node.type === 'ForOfStatement' && node.await);
    if (awaits && !inside) this.awaits = true;
    if ((awaits || node.type === 'ReturnStatement') && !inside) this.waits = true;
  }

  edit(begin, end, text) { this.edits.push([begin, end, text]); }

  text(node) { return this.code.slice(node.start, node.end); }

  declare(statement) {
    if (statement.type === 'VariableDeclaration') return this.variables(statement);
    if (statement.type === 'ClassDeclaration') {
      this.names.push(statement.id.name);
      const keep = this.waits ? '' : 'var ';
      this.edit(statement.start, statement.start, `${keep}${statement.id.name} = `);
      this.edit(statement.end, statement.end, ';');
    } else if (statement.type === 'FunctionDeclaration') {
      this.functions.push(statement.id.name);
    } else if (statement.type === 'ImportDeclaration') {
      this.imports(statement);
    } else if (/^Export(Named|Default)/.test(statement.type)) {
      this.exported(statement);
    }
  }

  variables(statement) {
    const {declarations, kind, start} = statement;
    for (const {id} of declarations) namesIn(id, this.names);
    if (!this.waits) {
      this.edit(start, start + kind.length, 'var');
      for (const {init, end} of declarations) {
        if (init === null && kind !== 'var') this.edit(end, end, ' = undefined');
      }
      return;
    }
    // A declaration would be the function's: assignments.
    this.edit(start, start + kind.length, ';');
    for (const {id, init, end} of declarations) {
      this.edit(id.start, id.start, '(');
      this.edit(end, end, init === null && kind !== 'var' ? ' = undefined)' : ')');
    }
  }

  imports({source, specifiers, start, end}) {
    let text = `${IMPORT}(${source.raw})`;
    const parts = [];
    let whole = null;
    for (const {type, local, imported} of specifiers) {
      this.names.push(local.name);
      if (type === 'ImportNamespaceSpecifier') {
        whole = local.name;
      } else {
        const name = type === 'ImportDefaultSpecifier' ? 'default' :
            imported.name ?? imported.raw;
        parts.push(`${name}: ${local.name}`);
      }
    }
    text = `await ${text}`;
    if (whole !== null) text = `${whole} = ${text}`;
    if (parts.length > 0) text = `({${parts.join(', ')}} = ${text})`;
    this.edit(start, end, `;${text};`);
  }

  // There is nobody to export to.
  exported({declaration, start, end}) {
    if (!declaration) return this.edit(start, end, ';');
    if (declaration.type.endsWith('Declaration') && declaration.id !== null) {
      this.edit(start, declaration.start, '');
      this.declare(declaration);
    } else {
      this.edit(start, declaration.start, '(');
      this.edit(declaration.end, declaration.end, ')');
    }
  }

  result() {
    const {body} = this.program;
    for (const statement of body) this.declare(statement);
    let before = '';
    let after = '';
    if (this.waits) {
      const last = body[body.length - 1];
      if (last.type === 'ExpressionStatement') {
        this.edit(last.expression.start, last.expression.start, 'return (');
        this.edit(last.expression.end, last.expression.end, ')');
      }
      const all = [...new Set(this.names)];
      if (all.length > 0) before = `var ${all.join(', ')}; `;
      before += '(async () => { ';
      for (const name of this.functions) before += `globalThis.${name} = ${name}; `;
      after = '\n})()';
    }
    return {
      code: before + this.apply() + after,
      names: [...this.names, ...this.functions],
      prefix: before.length,
      awaits: this.awaits,
    };
  }

  apply() {
    // Those at one place stay in their order.
    const edits = this.edits.sort((a, b) => a[0] - b[0]);
    const parts = [];
    let at = 0;
    for (const [begin, end, text] of edits) {
      if (begin < at) continue;  // within what is gone
      parts.push(this.code.slice(at, begin), text);
      at = end;
    }
    parts.push(this.code.slice(at));
    return parts.join('');
  }
}

// An object's literal would be a block.
function asExpression(code) {
  const text = code.trim();
  if (!text.startsWith('{') || text.endsWith(';')) return code;
  try {
    parse(`(${text}\n)`);
    return `(${text}\n)`;
  } catch {
    return code;
  }
}

// `names` are those that it declares; `prefix` is what its first line is longer
// at its beginning; `awaits` says whether it has an `await` at its top.
module.exports = (given) => {
  // What comes before it may follow no other text.
  const source = given.replace(/^#!/, '//');
  if (acorn === null) return {code: source, names: [], prefix: 0};
  const code = asExpression(source);
  let program;
  try {
    program = parse(code);
  } catch {
    // V8's message is the better one.
    return {code: source, names: [], prefix: 0};
  }
  return new Rewriter(code, program).result();
};
