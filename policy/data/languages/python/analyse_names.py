"""What a Python program's text names, told before it runs (docs/policy.md).

    python3 -I analyse.pyc FILE...

prints the facts; `analyse` is for a zygote's child, which looks at the program
that it then runs. The text is read by the interpreter's own parser, as it will
be when it runs. Nothing of it is executed.

Names are followed through imports, `as`, simple assignments, getattr() and
__import__() with literals, wherever in the program these stand. What is more
hidden than that isn't found: this is for rules, and no boundary.
"""

import _ast
import _warnings
import builtins
import sys

_MOST_FACTS = 4096
_MOST_BYTES = 96 * 1024
_MOST_NAME_BYTES = 200

_BUILTIN_NAMES = frozenset(dir(builtins)) | {"__builtins__"}

def analyse(sources):
    """Facts about [(path, bytes)], as bytes that ParseFacts() takes."""
    facts = _Facts()
    try:
        for number, (path, text) in enumerate(sources):
            facts.file = number
            try:
                tree = _parse(path, text)
            except (SyntaxError, ValueError) as error:
                facts.add(
                    "syntax-error",
                    getattr(error, "lineno", None),
                    (getattr(error, "offset", None) or 1) - 1,
                    str(getattr(error, "msg", None) or error),
                )
                continue
            _look_at(tree, facts)
    except _TooMany:
        return b"sandglass-facts 1\noverflow\n"
    return facts.text()


def _filters_changed():
    """Has the C code look at the filters of warnings anew."""
    if hasattr(_warnings, "_filters_mutated"):
        _warnings._filters_mutated()
        return
    # From 3.14 on they have a lock.
    _warnings._acquire_lock()
    try:
        _warnings._filters_mutated_lock_held()
    finally:
        _warnings._release_lock()


def _parse(path, text):
    # What it warns of it says again when the program is compiled.
    filters = _warnings.filters
    known = filters[:]
    filters.insert(0, ("ignore", None, Warning, None, 0))
    _filters_changed()
    try:
        return compile(text, path, "exec", _ast.PyCF_ONLY_AST, True)
    finally:
        filters[:] = known
        _filters_changed()


# A program in a zygote's child may list the classes of __main__, which this file
# was, too.
class _TooMany(Exception):
    __module__ = "sandglass"


class _Facts:
    __module__ = "sandglass"

    def __init__(self):
        self.file = 0
        self._places = {}

    def add(self, kind, line, column, name, detail=""):
        key = kind, name, detail
        place = self.file, line or 1, (column or 0) + 1
        known = self._places.get(key)
        if known is None:
            if len(self._places) == _MOST_FACTS:
                raise _TooMany
            self._places[key] = [place, 1]
        else:
            known[1] += 1
            if place < known[0]:
                known[0] = place

    def text(self):
        lines = []
        for (kind, name, detail), (place, count) in self._places.items():
            file, line, column = place
            fields = f"{file}\t{line}\t{column}\t{count}\t{_clean(name)}\t{_clean(detail)}"
            lines.append((place, f"{kind}\t{fields}\n"))
        lines.sort()
        text = "".join([line for _, line in lines])
        data = text.encode("utf-8", "replace")
        if len(data) > _MOST_BYTES:
            return b"sandglass-facts 1\noverflow\n"
        return b"sandglass-facts 1\n" + data + b"end\n"


def _clean(text):
    if not (text.isascii() and text.isprintable()):
        text = "".join([c if c >= " " and c != "\x7f" else "?" for c in text])
        text = text.encode("utf-8", "replace").decode()
    data = text.encode()
    if len(data) > _MOST_NAME_BYTES:
        text = data[:_MOST_NAME_BYTES].decode("utf-8", "ignore")
    return text


class _Scope:
    """Names that aren't the builtin ones here."""

    __module__ = "sandglass"

    def __init__(self, names, parent):
        self.names = names
        self.parent = parent

    def has(self, name):
        scope = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.parent
        return False


def _defined_in(body):
    """Functions and classes that surely are there when their names are used."""
    return {
        node.name
        for node in body
        if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef))
    }


def _parameters(arguments):
    names = {
        argument.arg
        for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs)
        for argument in group
    }
    for argument in (arguments.vararg, arguments.kwarg):
        if argument is not None:
            names.add(argument.arg)
    return names


def _look_at(tree, facts):
    names = _Names(facts)
    interesting = []
    stack = [(tree, _Scope(_defined_in(tree.body), None))]
    while stack:
        node, scope = stack.pop()
        handler = _COLLECTED.get(type(node))
        if handler is not None:
            scope = handler(names, node, scope, interesting)
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for child in value:
                    if isinstance(child, _ast.AST):
                        stack.append((child, scope))
            elif isinstance(value, _ast.AST):
                stack.append((value, scope))
    names.settle()
    # Longer names come before their parts.
    for node, scope in interesting:
        _TOLD[type(node)](names, node, scope, facts)


# ---------------------------------------------------------------------------
# First all names are collected, and what is to be looked at once they are.


def _collect_import(names, node, scope, interesting):
    for alias in node.names:
        names.tell_import(node, alias.name)
        if alias.asname:
            names.bind(alias.asname, alias.name)
        else:
            root = alias.name.partition(".")[0]
            if root != alias.name:
                names.tell_import(node, root)
            names.bind(root, root)
    return scope


def _collect_import_from(names, node, scope, interesting):
    if node.level:
        return scope  # the program's own
    module = node.module
    names.tell_import(node, module)
    for alias in node.names:
        if alias.name == "*":
            names.stars.append(module)
        else:
            target = f"{module}.{alias.name}"
            names.bind(alias.asname or alias.name, target)
            # Mentioned by this alone.
            names.facts.add("use", node.lineno, node.col_offset, _plain(target))
    return scope


def _collect_assign(names, node, scope, interesting):
    value = node.value
    targets = node.targets if type(node) is _ast.Assign else [node.target]
    if isinstance(value, (_ast.Name, _ast.Attribute, _ast.Call, _ast.Subscript)):
        for target in targets:
            if type(target) is _ast.Name:
                names.assigned.append((target.id, value, scope))
    return scope


def _collect_function(names, node, scope, interesting):
    # Defaults and annotations count as within, which finds no less.
    inner = _parameters(node.args)
    if type(node) is not _ast.Lambda:
        inner |= _defined_in(node.body)
    return _Scope(inner, scope)


def _collect(names, node, scope, interesting):
    interesting.append((node, scope))
    return scope


_COLLECTED = {
    _ast.Import: _collect_import,
    _ast.ImportFrom: _collect_import_from,
    _ast.Assign: _collect_assign,
    _ast.NamedExpr: _collect_assign,
    _ast.AnnAssign: _collect_assign,
    _ast.FunctionDef: _collect_function,
    _ast.AsyncFunctionDef: _collect_function,
    _ast.Lambda: _collect_function,
    _ast.Call: _collect,
    _ast.Attribute: _collect,
    _ast.Name: _collect,
    _ast.Subscript: _collect,
    _ast.While: _collect,
}


def _plain(name):
    for prefix in ("builtins.", "__builtins__."):
        if name.startswith(prefix):
            return name[len(prefix) :]
    return name


class _Names:
    __module__ = "sandglass"

    def __init__(self, facts):
        self.facts = facts
        self.stars = []
        self.assigned = []  # (name, value, scope), looked at when all are known
        self._targets = {}
        # What is the inner part of a longer name, which is told instead.
        self.within = set()
        self._resolving = 0

    def bind(self, name, target):
        self._targets.setdefault(name, [])
        if target not in self._targets[name]:
            self._targets[name].append(target)

    def tell_import(self, node, module):
        self.facts.add("import", node.lineno, node.col_offset, module)

    def settle(self):
        """Follows assignments: as often as one can be of another."""
        for _ in range(3):
            waiting, self.assigned = self.assigned, []
            for name, value, scope in waiting:
                found = self.resolve(value, scope)
                for target in found:
                    # A name of its own would stand for what it stands for.
                    if target != name:
                        self.bind(name, target)
                if not found:
                    self.assigned.append((name, value, scope))
            if len(self.assigned) == len(waiting):
                break
        self.assigned = []

    def resolve(self, node, scope, depth=0):
        """All that an expression may stand for, as dotted names."""
        if depth > 50:
            return []
        kind = type(node)
        if kind is _ast.Name:
            return self._of_name(node.id, scope)
        if kind is _ast.Attribute:
            bases = self.resolve(node.value, scope, depth + 1)
            return [_plain(f"{base}.{node.attr}") for base in bases]
        if kind is _ast.Call:
            return self._of_call(node, scope, depth)
        if kind is _ast.Subscript:
            return self._of_subscript(node, scope, depth)
        return []

    def _of_name(self, name, scope):
        targets = self._targets.get(name)
        if targets is not None:
            return [_plain(target) for target in targets]
        if scope.has(name):
            return []
        found = [name] if name in _BUILTIN_NAMES else []
        # Only what isn't the program's own can come from there.
        return found + [f"{module}.{name}" for module in self.stars]

    def _of_call(self, node, scope, depth):
        if type(node.func) is _ast.Name and node.func.id == "get_ipython":
            return ["get_ipython()"]  # what magics become
        first = _literal(node.args[0]) if node.args else None
        for function in self.resolve(node.func, scope, depth + 1):
            if function == "__import__" and first is not None:
                return [first.partition(".")[0]]
            if function == "importlib.import_module" and first is not None:
                return [first]
            if function == "getattr" and len(node.args) > 1:
                attribute = _literal(node.args[1])
                if attribute is not None:
                    bases = self.resolve(node.args[0], scope, depth + 1)
                    return [_plain(f"{base}.{attribute}") for base in bases]
            if function == "vars" and node.args:
                return self.resolve(node.args[0], scope, depth + 1)
        return []

    def _of_subscript(self, node, scope, depth):
        key = _literal(node.slice)
        if key is None:
            return []
        found = []
        for base in self.resolve(node.value, scope, depth + 1):
            if base == "sys.modules":
                found.append(key)
            else:
                base = base[: -len(".__dict__")] if base.endswith(".__dict__") else base
                found.append(_plain(f"{base}.{key}"))
        return found


def _literal(node, depth=0):
    """The text that an expression of literals is; else None."""
    kind = type(node)
    if kind is _ast.Constant:
        return node.value if type(node.value) is str else None
    if depth > 20:
        return None
    if kind is _ast.BinOp and type(node.op) is _ast.Add:
        left = _literal(node.left, depth + 1)
        right = _literal(node.right, depth + 1)
        return left + right if left is not None and right is not None else None
    if kind is _ast.JoinedStr:
        parts = [_literal(value, depth + 1) for value in node.values]
        return None if None in parts else "".join(parts)
    return None
