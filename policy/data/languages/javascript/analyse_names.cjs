// What names in a program stand for: "child_process.exec", whatever the program
// calls it.
'use strict';

// What is longer is no name of a module or function.
const MOST_TEXT = 1000;

const GLOBAL_OBJECTS = new Set(['globalThis', 'global', 'self', 'window']);
const REQUIRES = new Set([
  'require', 'module.require', 'process.mainModule.require', 'require.main.require',
  'process.getBuiltinModule', 'module._load', 'module.constructor._load',
  'module.Module._load',
]);
// What compilers put around require().
const WRAPPERS = /^(__importStar|__importDefault|__toESM|_interopRequire\w*)$/;

class Scope {
  constructor(parent, isFunction) {
    this.parent = parent;
    this.isFunction = isFunction;
    this.names = new Map();
  }

  declare(name) {
    let binding = this.names.get(name);
    if (binding === undefined) {
      binding = {sources: [], value: undefined, busy: false};
      this.names.set(name, binding);
    }
    return binding;
  }

  find(name) {
    for (let scope = this; scope !== null; scope = scope.parent) {
      const binding = scope.names.get(name);
      if (binding !== undefined) return binding;
    }
    return null;
  }

  get function() {
    let scope = this;
    while (!scope.isFunction) scope = scope.parent;
    return scope;
  }
}

function children(node) {
  const found = [];
  for (const key in node) {
    const value = node[key];
    if (Array.isArray(value)) {
      for (const child of value) {
        if (typeof child?.type === 'string') found.push(child);
      }
    } else if (typeof value?.type === 'string') {
      found.push(value);
    }
  }
  return found;
}

class Names {
  constructor(program) {
    this.scopes = new Map();   // of nodes that begin one
    this.globals = new Scope(null, true);
    this.modules = new Set();  // names that stand for modules
    this.assignments = [];
    this.constants = new Map();
    this.values = new Map();
    this.declareIn(program, new Scope(this.globals, true));
    for (const {name, scope, source} of this.assignments) {
      (scope.find(name) ?? this.globals.declare(name)).sources.push(source);
    }
  }

  // Declarations.

  declareIn(node, outer) {
    let scope = outer;
    switch (node.type) {
      case 'Program':
        this.scopes.set(node, scope);
        break;
      case 'FunctionDeclaration':
        if (node.id !== null) outer.declare(node.id.name);
        scope = this.function(node, outer);
        break;
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        scope = this.function(node, outer);
        break;
      case 'ClassDeclaration':
        if (node.id !== null) outer.declare(node.id.name);
        break;
      case 'ClassExpression':
        scope = this.begin(node, outer);
        if (node.id !== null) scope.declare(node.id.name);
        break;
      case 'StaticBlock':
      case 'PropertyDefinition':
        scope = this.begin(node, outer, true);
        break;
      case 'BlockStatement':
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
      case 'SwitchStatement':
        scope = this.begin(node, outer);
        break;
      case 'CatchClause':
        scope = this.begin(node, outer);
        if (node.param !== null) this.bind(node.param, null, scope, scope);
        break;
      case 'VariableDeclaration':
        for (const {id, init} of node.declarations) {
          const home = node.kind === 'var' ? scope.function : scope;
          this.bind(id, init && {node: init, scope, path: []}, scope, home);
        }
        break;
      case 'AssignmentExpression':
        if (/^(=|\|\|=|&&=|\?\?=)$/.test(node.operator)) {
          this.bind(node.left, {node: node.right, scope, path: []}, scope, null);
        }
        break;
      case 'ImportDeclaration':
        this.imports(node, scope);
        break;
      case 'CallExpression':
        this.callback(node);
        break;
    }
    for (const child of children(node)) this.declareIn(child, scope);
  }

  begin(node, outer, isFunction = false) {
    const scope = new Scope(outer, isFunction);
    this.scopes.set(node, scope);
    return scope;
  }

  function(node, outer) {
    const scope = this.begin(node, outer, true);
    if (node.type === 'FunctionExpression' && node.id !== null) {
      scope.declare(node.id.name);
    }
    if (node.type !== 'ArrowFunctionExpression') scope.declare('arguments');
    node.params.forEach((parameter, i) => {
      const given = i === 0 && node.given ? {node: node.given, scope, path: []} : null;
      this.bind(parameter, given, scope, scope);
    });
    return scope;
  }

  // import("x").then((x) => …) gives the function x.
  callback({callee, arguments: [first]}) {
    if (callee.type === 'MemberExpression' && callee.property.name === 'then' &&
        first?.params !== undefined) {
      first.given = callee.object;
    }
  }

  // Has `pattern` stand for `source`; what it declares is `home`'s, without one
  // it assigns.
  bind(pattern, source, scope, home) {
    const part = (key) => source && key !== null &&
        {...source, path: [...source.path, key]};
    switch (pattern?.type) {
      case 'Identifier':
        if (home !== null) {
          const binding = home.declare(pattern.name);
          if (source) binding.sources.push(source);
        } else if (source) {
          this.assignments.push({name: pattern.name, scope, source});
        }
        break;
      case 'AssignmentPattern':
        this.bind(pattern.left, source, scope, home);
        this.bind(pattern.left, {node: pattern.right, scope, path: []}, scope, home);
        break;
      case 'RestElement':
        this.bind(pattern.argument, source, scope, home);
        break;
      case 'ObjectPattern':
        for (const property of pattern.properties) {
          if (property.type === 'RestElement') {
            this.bind(property, source, scope, home);
          } else {
            this.bind(property.value, part(keyOf(property)), scope, home);
          }
        }
        break;
      case 'ArrayPattern':
        pattern.elements.forEach((element, i) => {
          const given = source?.path.length === 0 &&
              source.node.type === 'ArrayExpression' && source.node.elements[i];
          this.bind(element, given ? {...source, node: given} : null, scope, home);
        });
        break;
    }
  }

  imports({source, specifiers}, scope) {
    const module = this.module(String(source.value));
    for (const {type, local, imported} of specifiers) {
      const name = type === 'ImportSpecifier' ? imported.name ?? imported.value : '';
      const whole = name === '' || name === 'default';
      scope.declare(local.name).value = whole ? module : `${module}.${name}`;
    }
  }

  module(name) {
    const plain = name.replace(/^node:/, '');
    this.modules.add(plain);
    return plain;
  }

  // What things stand for.

  // The text that an expression is, as far as the program says it; null when it
  // doesn't.
  constant(node, scope) {
    if (this.constants.has(node)) return this.constants.get(node);
    this.constants.set(node, null);  // it may be used in itself
    const value = this.constantOf(node, scope);
    const text = value !== null && value.length <= MOST_TEXT ? value : null;
    this.constants.set(node, text);
    return text;
  }

  constantOf(node, scope) {
    switch (node?.type) {
      case 'Literal':
        return typeof node.value === 'string' ? node.value : null;
      case 'TemplateLiteral': {
        let text = node.quasis[0].value.cooked;
        for (let i = 0; i < node.expressions.length; i++) {
          const hole = this.constant(node.expressions[i], scope);
          if (hole === null || text.length > MOST_TEXT) return null;
          text += hole + node.quasis[i + 1].value.cooked;
        }
        return text;
      }
      case 'BinaryExpression': {
        if (node.operator !== '+') return null;
        const left = this.constant(node.left, scope);
        const right = this.constant(node.right, scope);
        return left === null || right === null ? null : left + right;
      }
      case 'Identifier': {
        const sources = scope.find(node.name)?.sources ?? [];
        if (sources.length !== 1 || sources[0].path.length > 0) return null;
        return this.constant(sources[0].node, sources[0].scope);
      }
    }
    return null;
  }

  // The dotted name that an expression stands for, or null.
  resolve(node, scope) {
    if (this.values.has(node)) return this.values.get(node);
    this.values.set(node, null);
    const value = this.valueOf(node, scope);
    this.values.set(node, value);
    return value;
  }

  valueOf(node, scope) {
    switch (node?.type) {
      case 'Identifier':
        return this.valueOfName(node.name, scope);
      case 'MemberExpression': {
        const base = this.resolve(node.object, scope);
        const name = this.property(node, scope);
        if (base === null || name === null) return null;
        // Of the promise, not of the module.
        if (node.object.type === 'ImportExpression') return null;
        return this.join(base, name);
      }
      case 'MetaProperty':
        return `${node.meta.name}.${node.property.name}`;
      case 'ChainExpression':
        return this.resolve(node.expression, scope);
      case 'AwaitExpression':
        return this.resolve(node.argument, scope);
      case 'SequenceExpression':
        return this.resolve(node.expressions[node.expressions.length - 1], scope);
      case 'AssignmentExpression':
        return node.operator === '=' ? this.resolve(node.right, scope) : null;
      case 'LogicalExpression':
        return this.resolve(node.left, scope) ?? this.resolve(node.right, scope);
      case 'ConditionalExpression':
        return this.resolve(node.consequent, scope) ??
            this.resolve(node.alternate, scope);
      case 'ImportExpression': {
        const name = this.constant(node.source, scope);
        return name === null ? null : this.module(name);
      }
      case 'CallExpression':
        return this.valueOfCall(node, scope);
    }
    return null;
  }

  valueOfName(name, scope) {
    const binding = scope.find(name);
    if (binding !== null && !binding.busy) {
      if (binding.value === undefined) {
        binding.busy = true;
        binding.value = null;
        for (const {node, scope: where, path} of binding.sources) {
          const base = this.resolve(node, where);
          if (base === null) continue;
          binding.value = path.reduce((value, key) => this.join(value, key), base);
          break;
        }
        binding.busy = false;
      }
      if (binding.value !== null) return binding.value;
    }
    if (binding !== null && this.globals.names.get(name) !== binding) return null;
    if (name === 'undefined') return null;
    return GLOBAL_OBJECTS.has(name) ? 'globalThis' : name;
  }

  valueOfCall(node, scope) {
    const {name, given} = this.call(node, scope);
    if (REQUIRES.has(name)) {
      const module = this.constant(given[0], scope);
      return module === null ? null : this.module(module);
    }
    if (name === 'module.createRequire') return 'require';
    if (WRAPPERS.test(node.callee.name)) return this.resolve(given[0], scope);
    const {callee} = node;
    if (callee.type === 'MemberExpression' && callee.property.name === 'bind') {
      return this.resolve(callee.object, scope);
    }
    return null;
  }

  // Of a call: the function's name, or null, and what it is given. f.call() and
  // f.apply() are calls of f.
  call({callee, arguments: given}, scope) {
    const name = this.resolve(callee, scope);
    if (callee.type !== 'MemberExpression') return {name, given};
    const how = this.property(callee, scope);
    if (how === 'call') return {name, given: given.slice(1)};
    if (how !== 'apply') return {name, given};
    const list = given[1]?.type === 'ArrayExpression' ? given[1].elements : [];
    return {name, given: list};
  }

  // The name of what a member expression takes, or null.
  property(node, scope) {
    if (node.computed) return this.constant(node.property, scope);
    return node.property.type === 'Identifier' ? node.property.name : null;
  }

  join(base, name) {
    if (base === 'globalThis') return GLOBAL_OBJECTS.has(name) ? base : name;
    if (name === 'default' && this.modules.has(base)) return base;
    if (/^(call|apply|bind)$/.test(name)) return base;
    return base.length + name.length < MOST_TEXT ? `${base}.${name}` : null;
  }
}

// The key of an object pattern's part, or null.
function keyOf({key, computed}) {
  if (!computed && key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : null;
}

module.exports = {Names, REQUIRES, children, keyOf};
