"""The second half of analyse_names.py: what a program does with the names."""

import _ast

_EXITS = frozenset(
    ("exit", "quit", "sys.exit", "os._exit", "os.abort", "os.execv", "os.execve",
     "os.execvp", "os.execvpe", "os.execl", "os.execle", "os.execlp")
)  # fmt: skip
# Functions that open a file, and where their mode stands.
_OPENERS = {
    "open": 1, "io.open": 1, "codecs.open": 1, "os.fdopen": 1, "gzip.open": 1,
    "gzip.GzipFile": 1, "bz2.open": 1, "bz2.BZ2File": 1, "lzma.open": 1,
    "lzma.LZMAFile": 1, "tarfile.open": 1, "zipfile.ZipFile": 1, "io.FileIO": 1,
    "wave.open": 1, "shelve.open": 1, "dbm.open": 1,
}  # fmt: skip
# Without a mode these can write.
_WRITE_BY_DEFAULT = frozenset(("shelve.open",))
_WRITING_METHODS = frozenset(("write_text", "write_bytes"))
_READ_FLAGS = frozenset(("os.O_RDONLY", "os.O_CLOEXEC"))

_FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)
_LOOPS = (_ast.While, _ast.For, _ast.AsyncFor)


def _tell_name(names, node, scope, facts):
    if id(node) in names.within or type(node.ctx) is not _ast.Load:
        return
    for name in names.resolve(node, scope):
        if "." in name or name in _BUILTIN_NAMES:
            facts.add("use", node.lineno, node.col_offset, name)


def _tell_attribute(names, node, scope, facts):
    if id(node) in names.within:
        return
    inner = node.value
    while type(inner) in (_ast.Attribute, _ast.Name, _ast.Subscript):
        names.within.add(id(inner))
        inner = getattr(inner, "value", None)
    for name in names.resolve(node, scope):
        facts.add("use", node.lineno, node.col_offset, name)


def _tell_call(names, node, scope, facts):
    function = node.func
    found = names.resolve(function, scope)
    line, column = node.lineno, node.col_offset
    if not found and type(function) is _ast.Attribute:
        facts.add("use", line, column, f"?.{function.attr}")
        _tell_method(node, function.attr, facts)
    for name in found:
        if name in ("__import__", "importlib.import_module", "importlib.__import__"):
            module = _literal(node.args[0]) if node.args else None
            if module is None:
                facts.add("import-unknown", line, column, name)
            else:
                facts.add("import", line, column, module)
        elif name in _OPENERS:
            _tell_open(node, name, _OPENERS[name], facts)
        elif name == "os.open" and not _only_reads(names, node, scope):
            facts.add("open-write", line, column, name, "by its flags")
        elif name == "pathlib.Path.open":
            _tell_open(node, name, 1, facts)
        elif name == "getattr":
            _tell_getattr(names, node, scope, facts)
    # What it is once it is called, for example of getattr(os, "system").
    for name in names.resolve(node, scope):
        if "." in name or name in _BUILTIN_NAMES:
            facts.add("use", line, column, name)


def _tell_getattr(names, node, scope, facts):
    if len(node.args) < 2 or _literal(node.args[1]) is not None:
        return
    for base in names.resolve(node.args[0], scope):
        # Any name of it.
        facts.add("use", node.lineno, node.col_offset, f"{base}.*")


def _tell_method(node, method, facts):
    if method in _WRITING_METHODS:
        facts.add("open-write", node.lineno, node.col_offset, f"?.{method}")
    elif method == "open":
        # As of a pathlib.Path.
        mode = _argument(node, 0, "mode")
        text = _literal(mode) if mode is not None else None
        if text is not None and set(text) <= set("rwaxbt+") and set(text) & set("wax+"):
            facts.add("open-write", node.lineno, node.col_offset, "?.open", text)


def _argument(node, place, keyword):
    for given in node.keywords:
        if given.arg == keyword:
            return given.value
    if place < len(node.args) and not any(
        type(argument) is _ast.Starred for argument in node.args[: place + 1]
    ):
        return node.args[place]
    return None


def _tell_open(node, name, place, facts):
    mode = _argument(node, place, "mode")
    line, column = node.lineno, node.col_offset
    if mode is None:
        unpacked = any(type(a) is _ast.Starred for a in node.args) or any(
            given.arg is None for given in node.keywords
        )
        if unpacked:
            facts.add("open-write", line, column, name, "mode unknown")
        elif name in _WRITE_BY_DEFAULT:
            facts.add("open-write", line, column, name)
        return
    text = _literal(mode)
    if text is None:
        facts.add("open-write", line, column, name, "mode unknown")
    elif set(text) & set("wax+cn"):
        facts.add("open-write", line, column, name, text)


def _only_reads(names, node, scope):
    flags = _argument(node, 1, "flags")
    if flags is None:
        return False
    waiting = [flags]
    while waiting:
        part = waiting.pop()
        if type(part) is _ast.BinOp and type(part.op) is _ast.BitOr:
            waiting += [part.left, part.right]
        elif not (type(part) is _ast.Constant and part.value == 0):
            found = names.resolve(part, scope)
            if not found or not set(found) <= _READ_FLAGS:
                return False
    return True


def _tell_subscript(names, node, scope, facts):
    if id(node) in names.within or type(node.ctx) is not _ast.Load:
        return
    found = names.resolve(node, scope)
    if found and type(node.value) in (_ast.Attribute, _ast.Name):
        names.within.add(id(node.value))
    for name in found:
        facts.add("use", node.lineno, node.col_offset, name)


def _tell_loop(names, node, scope, facts):
    text = _always_true(node.test)
    if text and not _has_way_out(names, node, scope):
        facts.add("endless-loop", node.lineno, node.col_offset, f"while {text}")


def _always_true(test):
    if type(test) is _ast.Constant and test.value:
        return repr(test.value)[:40]
    if type(test) is _ast.UnaryOp and type(test.op) is _ast.Not:
        inner = test.operand
        if type(inner) is _ast.Constant and not inner.value:
            return f"not {inner.value!r}"
    return ""


def _has_way_out(names, loop, scope):
    stack = [(child, True) for child in loop.body]
    while stack:
        node, breaks = stack.pop()
        kind = type(node)
        if kind in (_ast.Return, _ast.Raise, _ast.Yield, _ast.YieldFrom, _ast.Assert):
            return True
        if kind is _ast.Break and breaks:
            return True
        if kind is _ast.Call and _EXITS.intersection(names.resolve(node.func, scope)):
            return True
        if kind in _FUNCTIONS:
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            # A break in an inner loop is that one's, but in its `else`.
            inside = breaks and not (kind in _LOOPS and field == "body")
            if value.__class__ is list:
                stack += [(c, inside) for c in value if isinstance(c, _ast.AST)]
            elif isinstance(value, _ast.AST):
                stack.append((value, inside))
    return False


_TOLD = {
    _ast.Call: _tell_call,
    _ast.Attribute: _tell_attribute,
    _ast.Name: _tell_name,
    _ast.Subscript: _tell_subscript,
    _ast.While: _tell_loop,
}
