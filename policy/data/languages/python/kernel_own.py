"""What the kernel imports for itself; the first part of it.

Its own modules come from the interpreter's library, whatever the workspace, a
home or PYTHONPATH has by the same names. And they are in no cell's way: where
the workspace has a json.py, a cell that imports json gets that, as in bare
Python.
"""

import builtins
import io
import os
import sys
from _imp import extension_suffixes as _k_extension_suffixes
from gc import get_objects as _k_objects
from time import time_ns as _k_now

if type(__builtins__) is not dict:
    # All functions of the kernel see these builtins, whatever a cell does to
    # the real ones. ORDER: functions take what is there as they are made.
    __builtins__ = dict(vars(builtins))

_K_LIBRARY = os.path.dirname(os.__file__)
# Of those that Python starts with. All that is ours is below these.
_k_library = [
    place
    for place in sys.path
    if place in (_K_LIBRARY, f"{_K_LIBRARY}/lib-dynload") or place.endswith(".zip")
]
# Modules that Python itself has loaded as it starts, where nothing else was
# before this. A file in the workspace can't replace these.
_k_loaded_by_start = frozenset(sys.modules)
_k_own_modules = {}
# As long after a directory was changed another change may look the same.
_K_CHANGES_UNSEEN_NS = 2_000_000_000


def _k_flush_open_files():
    """Files that are still open, wherever a program or cell has put them.

    By what io knows of them: the word of an object for its class, and its own
    flush(), may fail, print or wait.
    """
    kinds = io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom
    for thing in _k_objects():
        for kind in kinds:
            if issubclass(type(thing), kind):
                try:
                    kind.flush(thing)
                except BaseException:
                    pass


def _k_origin(module):
    return getattr(getattr(module, "__spec__", None), "origin", None)


def _k_is_own(module):
    origin = _k_origin(module)
    if not isinstance(origin, str):
        return False
    if origin in ("built-in", "frozen"):
        return True
    return origin.startswith(f"{_K_LIBRARY}/") and "-packages/" not in origin


def _k_own(name):
    """A module of Python's library, of top level, for the kernel itself."""
    module = sys.modules.get(name)
    if module is not None and _k_is_own(module):
        return module
    module = _k_own_modules.get(name)
    if module is None:
        module = _k_own_modules[name] = _k_import_own(name)
    return module


def _k_import_own(name):
    modules, path = sys.modules, sys.path
    before = list(path)
    others = {
        known: module
        for known, module in list(modules.items())
        if known.partition(".")[0] in sys.stdlib_module_names
        and isinstance(_k_origin(module), str)
        and not _k_is_own(module)
    }
    try:
        for known in others:
            del modules[known]
        path[:] = _k_library
        return __import__(name)
    finally:
        path[:] = before
        modules.update(others)


class _KernelLoan:
    """While it lasts, modules of ours that import others as they are used find
    the library's: traceback does so with ast."""

    __module__ = "sandglass"

    def __init__(self, *names):
        self._ours = {name: _k_own(name) for name in names}

    def __enter__(self):
        self._theirs = {name: sys.modules.get(name) for name in self._ours}
        sys.modules.update(self._ours)

    def __exit__(self, *_):
        for name, module in self._theirs.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


class _KernelWay:
    """Makes way for modules of a cell's own, which have the names of some that
    were loaded for the kernel, or before there was one."""

    __module__ = "sandglass"

    def __init__(self, loaded_by_start):
        self._ahead = {
            name: module
            for name, module in sys.modules.items()
            if "." not in name
            and name not in loaded_by_start
            and name not in ("__main__", *sys.builtin_module_names)
        }
        self._suffixes = (".py", ".pyc", *_k_extension_suffixes())
        self._seen = {}

    def make(self):
        """Before a cell."""
        try:
            for place in list(sys.path):
                if place in _k_library:
                    return  # what comes behind replaces nothing
                self._look(place or ".")
        except Exception:
            pass  # a sys.path that no import could use either

    def _look(self, place):
        try:
            state = os.stat(place)
            key = state.st_dev, state.st_ino, state.st_mtime_ns
            if self._seen.get(place) == key:
                return
            entries = os.listdir(place)
        except OSError:
            return
        if _k_now() - state.st_mtime_ns > _K_CHANGES_UNSEEN_NS:
            self._seen[place] = key
        for entry in entries:
            name, dot, suffix = entry.partition(".")
            module = self._ahead.get(name)
            if module is None or sys.modules.get(name) is not module:
                continue
            if str(_k_origin(module)).startswith(f"{place}/"):
                continue  # that very one
            if dot + suffix in self._suffixes or (
                not dot and os.path.exists(f"{place}/{name}/__init__.py")
            ):
                self._forget(name)

    @staticmethod
    def _forget(name):
        for known in list(sys.modules):
            if known == name or known.startswith(f"{name}."):
                del sys.modules[known]
