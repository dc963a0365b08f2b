"""The Python half of a zygote: an interpreter that has started already.

    /usr/bin/python3 /proc/self/fd/202 MODULE...

imports the modules and then waits, in a native library, to be forked. Each
child runs one program, as `python3 PROGRAM` would have run it, and is gone.
Descriptor 202 has the text of zygote_end.py, zygote_environment.py,
zygote_rehearsal.py, those of the
kernel of sessions, and this file, one after the other. Descriptor 201 is the
library, which has all that concerns the system. In a child it calls, with no
Python frame beneath,

    rehearse(fully)               before there is a program
    facts = analyse(files)        where its text is to be looked at first
    begin = prepare(argv, env[, source])
    code, module = begin()        once it may start
    PyEval_EvalCode(code, module)
    exit_code = finish([exception] or [], has_grown)

where the exception is what `prepare`, `begin` or the program raised, and
`has_grown` is whether the process has by much since `prepare`. When it calls
`finish` it must hold no reference to `code`, `module` and the exception, since
a program can tell by its __del__ methods when these go; and no trace or
profile function may be set, which would be called for `finish`.
"""

import sys

# What bare Python has loaded when it looks at the program's directory; a file
# there can't replace these.
LOADED_BY_START = frozenset(sys.modules)

if __name__ == "__main__":
    # The directory of this file, where no module is to be found.
    del sys.path[0]

import _contextvars
import builtins
import ctypes
import gc
import io
import os
import stat
import time
from importlib import machinery

# Without PYTHONPATH's part, which comes from a program's environment again.
_search_path = [
    place
    for place in sys.path
    if place not in os.environ.get("PYTHONPATH", "").split(":")
]
_preloaded_names = set()


# The zygote itself.


def main():
    library = ctypes.PyDLL("/proc/self/fd/201")
    get_ready(sys.argv[1:])
    library.sandglass_serve(
        ctypes.py_object(rehearse),
        ctypes.py_object(analyse),
        ctypes.py_object(prepare),
        ctypes.py_object(finish),
    )
    os._exit(0)


def get_ready(names):
    """Imports the modules and makes the interpreter ready to be forked."""
    for name in names:
        try:
            __import__(name)
        except BaseException as error:
            text = " ".join(str(error).split())
            kind = type(error).__name__
            sys.stderr.write(f"preload {name}: {kind}: {text}\n")
    _find_blas()
    _open_empty_input()
    _prepare_end(ctypes)
    # Compiled here, so that no child pays for it.
    _make_rehearsal()
    _warm_libraries_up()
    _tell_open_files()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        # A fork has only the one that called it.
        sys.stderr.write(f"the modules started {threads - 1} threads\n")
        os._exit(1)
    sys.argv = [""]
    _modules["__main__"] = _new_main("")
    sys.path_importer_cache.clear()
    # A collection in a child would write to every object it visits, and so
    # copy their pages. Frozen objects are not visited.
    gc.collect()
    ctypes.pythonapi.malloc_trim(0)
    _remember_preloaded()
    _make_mark()


def _tell_open_files():
    """Words for the log about files that a module holds open: a child has none
    of them."""
    for name in os.listdir("/proc/self/fd"):
        if 2 < int(name) < 200:
            try:
                path = os.readlink(f"/proc/self/fd/{name}")
            except OSError:
                continue  # the listing's own
            sys.stderr.write(f"a module holds {path} open\n")


# ---------------------------------------------------------------------------
# Before a program is there.

_rehearsal = []


def _compile_pieces(pieces):
    # One by one, because the parser's memory isn't given back.
    return [
        compile(text, "<rehearsal>", "exec", dont_inherit=True)
        for name, text in pieces
        if name in _modules
    ]


def _make_rehearsal():
    _rehearsal.extend(_compile_pieces(_PIECES))


def _warm_libraries_up():
    """Lets large libraries load, in the zygote, what they load at their first
    use."""
    pieces = _compile_pieces(_LIBRARY_PIECES)
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    for code in pieces:
        try:
            exec(code, vars(_new_main("")))
        except Exception as error:
            text = " ".join(str(error).split())
            sys.stderr.write(f"warm-up: {type(error).__name__}: {text}\n")
    sys.stdin, sys.stdout, sys.stderr = streams
    if "matplotlib.font_manager" in _modules:
        # Fonts stay open in its cache, and no file does in a child.
        _modules["matplotlib.font_manager"]._get_font.cache_clear()
        gc.collect()


def rehearse(fully=True):
    """Does typical things once, and leaves nothing that a program could see.

    Not fully: a program waits already; only what must not be left from the
    zygote is seen to.
    """
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        # A context of its own, because decimal keeps its state in one.
        if fully:
            _contextvars.Context().run(_rehearse_programs)
    except Exception:
        # What didn't work here is for a program to find.
        pass
    sys.stdin, sys.stdout, sys.stderr = streams
    for name in ("last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    if "linecache" in _modules:
        _modules["linecache"].clearcache()
    _forget_history()
    if fully:
        # The steps of `prepare` that can be taken without a program.
        known = os.environ._data.items()
        _set_environment([name + b"=" + value for name, value in known])
        _set_path_and_names([b"main.py"])
        sys.argv = [""]
        _modules["__main__"] = _new_main("")
        _reopen_standard_files()
        _would_import_otherwise(os.getcwd())
        _rehearse_libraries()
        analyse([("main.py", _FIRST_PROGRAM)])
        _rehearse_end()
        gc.collect()
        _make_mark()


def _rehearse_programs():
    sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    # A file, because compiling and tracebacks read the program from one.
    fd = os.memfd_create("main.py")
    try:
        os.write(fd, _FIRST_PROGRAM.encode())
        path = f"/proc/self/fd/{fd}"
        module = _modules["__main__"] = _new_main(path)
        exec(_compile(path, vars(module)), vars(module))
    finally:
        os.close(fd)
    for code in _rehearsal:
        try:
            exec(code, vars(module))
        except Exception:
            pass


def _rehearse_end():
    _flush_standard_files()
    _dismiss_signal_handlers(dry=True)
    _goes_unseen()
    _k_flush_open_files()


# ---------------------------------------------------------------------------
# When a program comes.


def prepare(argv, env, source=None):
    """Makes everything as `python3 ARGV...` has it before it reads the program,
    which may not be let start.

    The working directory is the program's already. With a source, it is that of
    the program, whose file is alone there and no link. Returns what then returns
    its code and the namespace of its __main__.
    """
    if argv[:2] == _KERNEL_ARGV:
        return lambda: _prepare_kernel(int(argv[2]), env)
    if argv[:2] == _ANALYSE_ARGV:
        return lambda: _prepare_nothing_after(argv[2:])
    _set_environment(env)
    path = _set_path_and_names(argv, source is None)
    _reopen_standard_files()
    return lambda: _begin(argv, path, source)


def _begin(argv, path, source):
    global _main
    places = _python_path() + ([sys.path[0]] if source is None else [])
    if any(
        _layer_would_import_otherwise(place)
        if place == _LAYER
        else _would_import_otherwise(place)
        for place in places
    ):
        os.execve(sys.executable, [sys.executable, *argv], os.environb)
    if "logging" in _modules:
        _modules["logging"]._startTime = time.time()
    if _blas:
        _set_blas_threads()
    # The module stays alive until `finish`, as in pyrun_simple_file().
    _main = _modules["__main__"] = _new_main(path)
    namespace = vars(_main)
    return _compile(path, namespace, source), namespace


def _set_path_and_names(argv, may_be_link=True):
    """Sets what tells a program its name. Returns the path of its file."""
    arguments = [os.fsdecode(argument) for argument in argv]
    sys.argv = arguments
    sys.orig_argv = [sys.executable, *arguments]
    path = arguments[0]
    if "/" not in path and not (may_be_link and os.path.islink(path)):
        directory = os.getcwd()
        path = f"{directory}/{path}"
    else:
        path = os.path.abspath(path)
        # _PyPathConfig_ComputeSysPath0() in Python/pathconfig.c.
        directory = os.path.dirname(os.path.realpath(path))
    sys.path[:] = [directory, *_python_path(), *_search_path]
    return path


def _python_path():
    value = os.environ._data.get(b"PYTHONPATH")
    if not value:
        return []
    if value == _LAYER_BYTES:
        return [_LAYER]
    value = os.fsdecode(value)
    return [os.path.abspath(part) for part in value.split(":") if part]


def _open_empty_input():
    """Makes the sys.stdin of a run without input, which most have."""
    global _empty_input, _null
    pipe = os.dup(0)
    try:
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(null, 0)
        os.close(null)
        _null = os.fstat(0).st_rdev
        _empty_input = _open_standard(0, "<stdin>", "r")
        os.dup2(pipe, 0)
    finally:
        os.close(pipe)


def _reopen_standard_files():
    # The zygote's own are pipes, and so are these unless a run says otherwise.
    # A file object remembers what it was opened for.
    state = os.fstat(0)
    if stat.S_ISCHR(state.st_mode) and state.st_rdev == _null:
        sys.stdin = sys.__stdin__ = _empty_input
    elif not stat.S_ISFIFO(state.st_mode):
        sys.stdin = sys.__stdin__ = _open_standard(0, "<stdin>", "r")
    if not stat.S_ISFIFO(os.fstat(1).st_mode):
        sys.stdout = sys.__stdout__ = _open_standard(1, "<stdout>", "w")
    if not stat.S_ISFIFO(os.fstat(2).st_mode):
        sys.stderr = sys.__stderr__ = _open_standard(2, "<stderr>", "w")


def _open_standard(fd, name, mode):
    """As create_stdio() in Python/pylifecycle.c does with PYTHONUNBUFFERED=1."""
    old = {0: sys.__stdin__, 1: sys.__stdout__, 2: sys.__stderr__}[fd]
    writes = mode == "w"
    buffer = io.open(fd, mode + "b", 0 if writes else -1, closefd=False)
    (buffer if writes else buffer.raw).name = name
    text = io.TextIOWrapper(
        buffer,
        old.encoding,
        old.errors,
        "\n",
        write_through=True,
    )
    text.mode = mode
    return text


def _forget_history():
    """Makes anew what a zygote's children would share."""
    if "random" in _modules:
        _modules["random"].seed()
    if "numpy.random" in _modules:
        _modules["numpy.random"].seed()
    if "ssl" in _modules:
        # OpenSSL tells a fork by the process number, and all children may have
        # the same one in their namespaces.
        _modules["ssl"].RAND_add(os.urandom(32), 32.0)
    if "tempfile" in _modules:
        _modules["tempfile"]._name_sequence = None
        _modules["tempfile"].tempdir = None
    if "uuid" in _modules:
        _modules["uuid"]._node = _modules["uuid"]._last_timestamp = None
    if "platform" in _modules:
        # Has the name of the host.
        _modules["platform"]._uname_cache = None
    if "multiprocessing.process" in _modules:
        process = _modules["multiprocessing.process"]
        key = process.AuthenticationString(os.urandom(32))
        process.current_process()._config["authkey"] = key
    if "matplotlib" in _modules:
        # It makes them as it is imported.
        os.makedirs(_modules["matplotlib"].get_configdir(), exist_ok=True)
        os.makedirs(_modules["matplotlib"].get_cachedir(), exist_ok=True)
    if "threading" in _modules:
        thread = _modules["threading"]._main_thread
        thread._set_native_id()
        # Up to 3.12 its end is told by the thread state, and the child's is a
        # new one.
        lock = getattr(thread, "_tstate_lock", None)
        if lock is not None and not lock.locked():
            _modules["threading"]._shutdown_locks.discard(lock)
            thread._set_tstate_lock()


def _remember_preloaded():
    global _preloaded, _preloaded_names
    _preloaded = dict(_modules)
    _preloaded_names = {
        name.partition(".")[0]
        for name in _preloaded
        if name not in LOADED_BY_START
    }


_blas = []
_BLAS_SETTERS = (
    "openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads64_",
)


def _find_blas():
    """Finds how to tell OpenBLAS what its environment told it at its start."""
    with open("/proc/self/maps") as file:
        paths = {line.split(None, 5)[5].strip() for line in file if "blas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in _BLAS_SETTERS:
            if hasattr(library, name):
                _blas.append(getattr(library, name))


def _set_blas_threads():
    # The zygote has one: threads don't outlive a fork.
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        threads = os.environ.get(name, "")
        if threads.isdigit() and threads != "0":
            if threads != "1":
                for setter in _blas:
                    setter(int(threads))
            return


def _new_main(path):
    """A module with what __main__ has in bare Python, in the same order."""
    module = type(sys)("__main__")
    module.__loader__ = machinery.SourceFileLoader("__main__", path)
    module.__annotations__ = {}
    vars(module)["__builtins__"] = builtins
    module.__file__ = path
    module.__cached__ = None
    return module


def _compile(path, namespace, source=None):
    try:
        if source is None:
            with io.FileIO(path) as file:
                source = file.readall()
    except OSError as error:
        if isinstance(error, IsADirectoryError):
            text = f"can't find '__main__' module in {path!r}"
            code = 1
        else:
            reason = f"[Errno {error.errno}] {error.strerror}"
            text = f"can't open file {path!r}: {reason}"
            code = 2
        _write_to_stderr(f"{sys.executable}: {text}\n")
        raise SystemExit(code) from None
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        problem = error.with_traceback(None)
    # The parser tells errors of a file in other words than errors of a string;
    # those that come after it are the same, and may have followed a warning.
    ast_only = 0x400
    try:
        compile(source, path, "exec", ast_only, dont_inherit=True)
    except (SyntaxError, ValueError):
        pass
    else:
        raise problem
    return _run_as_file(path, namespace)


def _run_as_file(path, namespace):
    """Lets CPython itself read the file, which is expected to raise."""
    fopen = ctypes.pythonapi.fopen
    fopen.restype = ctypes.c_void_p
    run = ctypes.pythonapi.PyRun_FileExFlags
    run.restype = ctypes.py_object
    py_file_input = 257
    name = os.fsencode(path)
    run(
        ctypes.c_void_p(fopen(name, b"rb")),
        name,
        py_file_input,
        ctypes.py_object(namespace),
        ctypes.py_object(namespace),
        1,
        None,
    )
    # The file's parser took what the string's refused: it has run.
    return compile("", path, "exec", dont_inherit=True)


if __name__ == "__main__":
    main()
