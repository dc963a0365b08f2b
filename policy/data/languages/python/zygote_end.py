"""The end of a program in a zygote's child; a part of zygote.py.

Does what bare Python does when a program has ended: PyErr_PrintEx() in
Python/pythonrun.c of CPython 3.11, then Py_FinalizeEx() in
Python/pylifecycle.c as far as a program can see it. What the zygote brought is
left alone: nobody sees it go, and to take it down takes longer than most
programs run.
"""

import _signal
import _warnings
import _weakref
import atexit
import builtins
import gc
import operator
import posix
import sys

# All functions of the zygote see these builtins, whatever a program does to
# the real ones.
__builtins__ = dict(vars(builtins))

# Programs may put other objects in the place of these.
_display = sys.__excepthook__
_getpid, _kill, _write = posix.getpid, posix.kill, posix.write
_modules = sys.modules
_run_exit_functions = atexit._run_exitfuncs
_exception_slots = vars(BaseException)
_get_traceback = _exception_slots["__traceback__"].__get__
_set_traceback = _exception_slots["__traceback__"].__set__

# The builtins that Py_FinalizeEx() puts back: those of the time before io and
# site added theirs (interp->builtins_copy).
_first_builtins = {
    name: value
    for name, value in __builtins__.items()
    if name
    not in ("open", "quit", "exit", "copyright", "credits", "license", "help")
}

# sys.modules as a program found it.
_preloaded = {}

# The program's __main__, from `prepare` to the begin of `finish`.
_main = None

# The kernel, where there is one in place of a program.
_kernel = None

# What follows takes some frames, whatever limit a program has set.
_LEAST_RECURSION = 200


def finish(exceptions, has_grown=False):
    """Ends the program as bare Python would. Returns its exit code.

    What it left is looked at only where it hasn't grown by much: a list of all
    its objects may be what the memory limit has no room for.
    The exception, where there is one, is taken out of the list. The caller's
    reference would keep it and its class alive, and with the class all of
    __main__.

    The program's objects are nowhere asked for their class, nor called by
    methods of theirs that bare Python wouldn't call: that is code which may
    fail. If something fails all the same, the result doesn't show it.
    """
    code = [1 if exceptions else 0]
    try:
        if sys.getrecursionlimit() < _LEAST_RECURSION:
            sys.setrecursionlimit(_LEAST_RECURSION)
        _finish(exceptions, has_grown, code)
    except BaseException:
        _flush_ignoring_errors()
    if _kernel is not None:
        # The pipe on which a program's end is told has the kernel's events.
        _k_exit(code[0] & 0xFF)
    return code[0] & 0xFF


def _finish(exceptions, has_grown, code):
    """The steps of it. The exit code is in `code` as soon as it is known."""
    global _main
    exception = exceptions.pop() if exceptions else None
    _flush_ignoring_errors()
    namespace = vars(_main) if _main else {}
    _main = None
    # run_eval_code_obj() in Python/pythonrun.c: subclasses don't count.
    interrupted = type(exception) is KeyboardInterrupt
    left = False
    if exception is not None:
        _cut_own_frames(exception)
        code[0], left = _leave_or_print(exception)
        _empty(exception, left)
        exception = None
    if not left:
        # pyrun_simple_file(), which SystemExit never comes back to.
        namespace.pop("__file__", None)
        namespace.pop("__cached__", None)
    namespace = None
    if not _finalize(has_grown):
        code[0] = 120
    if interrupted and not left:
        # exit_sigint() in Modules/main.c.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _kill(_getpid(), _signal.SIGINT)


class _CStack:
    """Runs things with no Python frame beneath, as the C code does that is
    imitated here: warnings, print_stack() and the like would show ours."""

    # A program may list the classes of __main__, which this file was, too.
    __module__ = "sandglass"

    # Where the frame that runs is found from PyThreadState on, by version: its
    # cframe and that one's current_frame, or current_frame itself
    # (Include/cpython/pystate.h).
    _PATHS = {(3, 11): (56, 8), (3, 12): (56, 0), (3, 13): (72,), (3, 14): (72,)}

    def __init__(self, ctypes):
        self._pointer = ctypes.c_void_p.from_address
        self._state = ctypes.pythonapi.PyThreadState_Get
        self._state.restype = ctypes.c_void_p
        self._path = self._PATHS[sys.version_info[:2]]
        # _PyRuntime._finalizing of Include/internal/pycore_runtime.h; from 3.13 on
        # a table of such places is at its beginning.
        runtime = ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")
        start, place = ctypes.addressof(runtime), 24
        if ctypes.string_at(start, 8) == b"xdebugpy":
            place = ctypes.c_uint64.from_address(start + 32).value
        self._finalizing = self._pointer(start + place)

    def current(self):
        """Where C code finds the frame that runs: None as its value hides the
        caller's, and must be gone before the caller calls or returns to Python.
        """
        place = self._state()
        for offset in self._path[:-1]:
            place = self._pointer(place + offset).value
        return self._pointer(place + self._path[-1])

    def call(self, function, *args):
        """The function must be one of C: a Python function called from here
        knows its caller."""
        current = self.current()
        frame, current.value = current.value, None
        try:
            return function(*args)
        finally:
            current.value = frame

    def stop_other_threads(self):
        """A thread that wants the interpreter's lock ends instead of getting it
        (tstate_must_exit() in Python/ceval_gil.h); sys.is_finalizing() holds."""
        self._finalizing.value = self._state()

    def check(self):
        """Whether all is in its place; for this, memory is only read."""
        inner = self.current().value
        # PyFrameObject.f_frame of Include/internal/pycore_frame.h.
        known = self._pointer(id(sys._getframe()) + 24).value
        return inner == known and self._finalizing.value is None


class _PlainStack:
    """Where the interpreter isn't the one that _CStack knows."""

    __module__ = "sandglass"

    value = None

    def current(self):
        return self

    def call(self, function, *args):
        return function(*args)

    def stop_other_threads(self):
        pass


_c_stack = _PlainStack()
_UnraisableArgs = _flush_c_files = None


def _prepare_end(ctypes):
    """Finds what `finish` needs while the interpreter is as it started."""
    global _c_stack, _UnraisableArgs, _flush_c_files
    if sys.version_info[:2] in _CStack._PATHS:
        stack = _CStack(ctypes)
        if stack.check():
            _c_stack = stack
        else:
            sys.stderr.write("zygote: the interpreter is not as expected\n")
    _flush_c_files = ctypes.pythonapi.fflush

    # The type of sys.unraisablehook's argument has no public name.
    class Failing:
        def __del__(self):
            raise ValueError

    found = []
    hook = sys.unraisablehook
    sys.unraisablehook = lambda args: found.append(type(args))
    Failing()
    sys.unraisablehook = hook
    _UnraisableArgs = found[0]


# --------------------------------------------------------------------------
# What the program died of.


def _leave_or_print(exception):
    """PyErr_PrintEx(). Returns the exit code, and whether SystemExit set it."""
    kind = type(exception)
    if issubclass(kind, SystemExit):
        return _exit_code(exception), True
    traceback = _get_traceback(exception)
    sys.last_type, sys.last_value, sys.last_traceback = kind, exception, traceback
    for name in _LAST:
        setattr(sys, name, exception)
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _write_to_stderr("sys.excepthook is missing\n")
        _display(kind, exception, traceback)
        return 1, False
    problem = None
    try:
        _c_stack.call(operator.call, hook, kind, exception, traceback)
    except BaseException as error:
        problem = error
    if problem is None:
        return 1, False
    own = _cut_own_frames(problem)
    if issubclass(type(problem), SystemExit):
        return _exit_code(problem), True
    _write_to_stderr("Error in sys.excepthook:\n")
    _display(type(problem), problem, own)
    _write_to_stderr("\nOriginal exception was:\n")
    _display(kind, exception, traceback)
    return 1, False


def _exit_code(exception):
    """_Py_HandleSystemExit() in Python/pythonrun.c."""
    try:
        value = exception.code
    except BaseException:
        value = exception
    if value is None:
        return 0
    if issubclass(type(value), int):
        value = int.__index__(value)
        # PyLong_AsLong() has -1 for what a long can't hold.
        return value if -(2**63) <= value < 2**63 else -1
    if sys.version_info >= (3, 12) and value is not exception:
        # The code goes last, and the exception before it is printed.
        _empty(exception, True)
    stderr = getattr(sys, "stderr", None)
    try:
        text = str(value)
        if stderr is not None:
            stderr.write(text)
        else:
            _write(2, text.encode("utf-8", "backslashreplace"))
    except BaseException:
        pass
    _write_to_stderr("\n")
    return 1


def _empty(exception, left):
    """SystemExit_clear(): the caller's reference may be there all the same."""
    if left:
        if issubclass(type(exception), SystemExit):
            SystemExit.code.__set__(exception, None)
        _exception_slots["__dict__"].__get__(exception).clear()
        _exception_slots["args"].__set__(exception, ())
        for name in ("__traceback__", "__context__", "__cause__"):
            _exception_slots[name].__set__(exception, None)


def _cut_own_frames(error):
    """Takes our frames off the exception's traceback, and returns the rest."""
    traceback = _get_traceback(error)
    while traceback and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    _set_traceback(error, traceback)
    return traceback


def _write_to_stderr(text):
    """PySys_WriteStderr()."""
    try:
        sys.stderr.write(text)
    except BaseException:
        try:
            _write(2, text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


def _report_unraisable(error, where, words=None):
    """PyErr_WriteUnraisable()."""
    own = _cut_own_frames(error)
    args = _UnraisableArgs((type(error), error, own, words, where))
    try:
        _c_stack.call(operator.call, sys.unraisablehook, args)
    except BaseException:
        pass


# --------------------------------------------------------------------------
# The steps of Py_FinalizeEx().


def _finalize(has_grown):
    """Returns whether the standard files could be flushed."""
    threading = _modules.get("threading")
    if threading is not None:
        try:
            _c_stack.call(operator.call, threading._shutdown)
        except BaseException as error:
            _report_unraisable(error, threading)
    threading = None
    _c_stack.call(_run_exit_functions)
    _c_stack.stop_other_threads()
    flushed = _flush_standard_files()
    unseen = False
    try:
        _dismiss_signal_handlers()
        unseen = not has_grown and _goes_unseen()
        if unseen:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        else:
            if gc.isenabled():
                _c_stack.call(gc.collect)
            _forget_modules()
    except BaseException:
        # A program's object that fails where CPython ignores it.
        pass
    _flush_ignoring_errors()
    if not unseen:
        _k_flush_open_files()
    # The C library's own buffers: the process ends by _exit().
    _flush_c_files(None)
    return flushed


# One of them that isn't listed has been frozen by the program, and so may
# others.
_mark = None
_warning_filters = ()

_CALLING = (_weakref.ReferenceType, _weakref.ProxyType, _weakref.CallableProxyType)
# Py_TPFLAGS_HAVE_GC in Include/object.h.
_HAS_GC = 1 << 14
_flags_of = type.__dict__["__flags__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_names_of = type.__dict__["__dict__"].__get__


def _make_mark():
    """What comes before this is none of the program's."""
    global _mark, _warning_filters
    gc.freeze()
    _mark = [None]
    filters = _current_filters()
    _warning_filters = filters, tuple(filters)


def _current_filters():
    warnings = _modules.get("warnings")
    return (warnings or _warnings).filters


def _goes_unseen():
    """Whether nothing that the program leaves could act or say something as it
    goes, so that all of it can be left where it is."""
    if gc.callbacks or gc.get_debug():
        return False
    filters, known = _warning_filters
    now = _current_filters()
    if now is not filters or [*map(id, now)] != [*map(id, known)]:
        return False
    marked, kinds = False, {}
    for thing in gc.get_objects():
        kind = type(thing)
        kinds[id(kind)] = kind
        if thing is _mark:
            marked = True
        elif kind is _weakref.ReferenceType:
            if thing.__callback__ is not None:
                return False
        elif issubclass(kind, type) and not _flags_of(thing) & _HAS_GC:
            # Its objects aren't in the list.
            kinds[id(thing)] = thing
    for kind in kinds.values():
        if kind is not _weakref.ReferenceType and issubclass(kind, _CALLING):
            return False
        # Files, sockets, generators and coroutines have one too.
        for base in _mro_of(kind):
            if "__del__" in _names_of(base):
                return False
    return marked


def _flush_standard_files():
    """flush_std_files() in Python/pylifecycle.c."""
    flushed = True
    for name in ("stdout", "stderr"):
        file = getattr(sys, name, None)
        if file is None:
            continue
        try:
            if file.closed:
                continue
        except BaseException:
            pass
        try:
            file.flush()
        except BaseException as error:
            if name == "stdout" and sys.version_info >= (3, 13):
                words = "Exception ignored on flushing sys.stdout"
                _report_unraisable(error, None, words)
            elif name == "stdout":
                _report_unraisable(error, file)
            flushed = False
    return flushed


def _flush_ignoring_errors():
    """flush_io() in Python/pythonrun.c."""
    for name in ("stderr", "stdout"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass


def _dismiss_signal_handlers(dry=False):
    """_PySignal_Fini() in Modules/signalmodule.c."""
    for number in range(1, 65):
        # The C library keeps 32 and 33 for itself.
        handler = _signal.getsignal(number) if number not in (32, 33) else None
        if callable(handler) and not dry:
            _signal.signal(number, _signal.SIG_DFL)


_LAST = ("last_exc",) if sys.version_info >= (3, 12) else ()
_CLEARED_IN_SYS = _LAST + (
    "path", "argv", "ps1", "ps2", "last_type", "last_value", "last_traceback",
    "path_hooks", "path_importer_cache", "meta_path", "__interactivehook__",
)  # fmt: skip


def _forget_modules():
    """finalize_modules() in Python/pylifecycle.c, for the program's modules."""
    alive = [
        _weakref.ref(module)
        for name, module in _modules.items()
        if type(module) is type(sys) and _preloaded.get(name) is not module
    ]
    builtin = builtins.__dict__
    # What follows may free objects of the program, and so run code of it.
    current = _c_stack.current()
    frame, current.value = current.value, None
    try:
        builtin.pop("_", None)
        for name in _CLEARED_IN_SYS:
            setattr(sys, name, None)
        for name in ("stdin", "stdout", "stderr"):
            setattr(sys, name, getattr(sys, "__" + name + "__", None))
        # One after the other, in their order.
        _modules.update(dict.fromkeys(_modules))
        _modules.clear()
        before = dict(builtin)
        builtin.clear()
        builtin.update(_first_builtins)
        before = None
        gc.collect()
        # What is still alive is held by something that isn't collected.
        while alive:
            module = alive.pop()()
            if module is not None:
                # _PyModule_ClearDict() in Objects/moduleobject.c.
                names = module.__dict__
                for others in (False, True):
                    for name in [*names]:
                        if type(name) is not str or name == "__builtins__":
                            continue
                        if others or (name[:1] == "_" and name[1:2] != "_"):
                            names[name] = None
                names = None
            module = None
        gc.collect()
    finally:
        current.value = frame
