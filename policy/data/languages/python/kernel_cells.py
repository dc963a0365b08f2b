"""One cell after another: the third part of the Python kernel."""

import _ast

_k_set_trace, _k_set_profile = sys.settrace, sys.setprofile
# Whatever the class of an exception makes of that name.
_k_traceback_of = vars(BaseException)["__traceback__"].__get__

# Of compile(): PyCF_ONLY_AST and PyCF_ALLOW_TOP_LEVEL_AWAIT; of code objects:
# CO_FUTURE_ANNOTATIONS, which holds for later cells too, and CO_COROUTINE.
_K_ONLY_AST, _K_AWAIT = 0x400, 0x2000
_K_ANNOTATIONS, _K_COROUTINE = 0x1000000, 0x80
# Functions that need a running loop. What calls one outside any function is run
# in the loop, as everything is in a notebook.
_K_LOOP_NAMES = frozenset(
    ("create_task", "ensure_future", "get_running_loop", "gather", "current_task")
)

_K_MAX_VALUE = 64 * 1024
_K_MAX_TRACEBACK = 256 * 1024
_K_MAX_FRAMES = 5000
_K_SHOWN_FRAMES = 400
_K_MAX_OUT = 1000

_K_NO_IPYTHON = (
    "%magic, !command and name? are IPython's, and this image is without it"
    " (Debian's package is python3-ipython)"
)


class _KernelOutcome:
    """How a cell ended, in text: nothing here is the cell's any more."""

    __module__ = "sandglass"

    def __init__(self, status, exit_code, error=None):
        self.status, self.exit_code, self.error = status, exit_code, error


def _k_cut(text, most):
    """Without its middle where it is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[{left_out} characters]\n{text[-half:]}"


def _k_text(value):
    try:
        return str.__str__(str(value))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:
        return f"<{type(value).__name__}, whose str() failed>"


def _k_exit_code(error):
    """As a program's that ends so, and what it writes to stderr."""
    try:
        value = error.code
    except Exception:
        value = error
    if value is None:
        return 0, None
    if issubclass(type(value), int):
        return int.__index__(value) & 0xFF, None
    return 1, _k_text(value)


class _KernelCells:
    """Runs cells in the namespace of a __main__."""

    __module__ = "sandglass"

    def __init__(self, module, screen):
        self.module = module
        self.names = vars(module)
        self.screen = screen
        self.count = 0
        self.inputs, self.outputs = [""], {}
        self.names.update({"In": self.inputs, "Out": self.outputs})
        self._last = [None, None, None]
        self._sources = {}
        self._flags = 0
        self._loop = self._asyncio = None
        self._outcome = None

    def begin(self, source):
        self.count += 1
        self._outcome = None
        self._register(f"<cell {self.count}>", source)
        self.inputs.append(source)

    def run(self, source, rich):
        """Runs a cell. All that may call its code is done in here, where a
        signal may interrupt it; the outcome has only our own objects."""
        name = f"<cell {self.count}>"
        shell = self.screen.shell
        try:
            try:
                if shell is not None:
                    shell.kernel_begin_cell(source)
                self._run_source(name, source, rich)
            finally:
                # One that the cell's own import has made, too.
                shell = self.screen.shell
                if shell is not None:
                    shell.kernel_end_cell()
        except BaseException as error:
            problem = error
        else:
            problem = None
        outcome = self._describe(name, problem)
        problem = None
        if rich:
            # After an error, too: a cell's figures don't wait for the next.
            self.screen.show_figures()
        return outcome

    def end(self):
        """After the last cell: nothing of it is kept here any more, and its loop
        ends as that of asyncio.run() does."""
        self.module = self.names = self.outputs = None
        self._last.clear()
        loop, asyncio = self._loop, self._asyncio
        self._loop = self._asyncio = None
        if loop is None or loop.is_closed():
            return
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    # From source to value.

    def _run_source(self, name, source, rich):
        if "get_ipython" in source:
            self._shell()
        try:
            codes = self._compile(name, source, rich)
        except SyntaxError as error:
            problem = error
        else:
            problem = None
        if problem is not None:
            codes = self._compile(name, self._without_magic(source, problem), rich)
        self._revive_loop()
        value = None
        try:
            for code in codes:
                value = self._evaluate(code)
        finally:
            # A cell's own would be called for all that follows.
            _k_set_trace(None)
            _k_set_profile(None)
        if value is not None:
            # Only an expression has one.
            codes = code = None
            self._show_result(value)

    def _compile(self, name, source, rich):
        """Code objects. The value of the last one is what the cell shows."""
        flags = _K_AWAIT | self._flags
        last = None
        if rich:
            try:
                tree = compile(source, name, "exec", flags | _K_ONLY_AST, True)
                body = tree.body
                if body and type(body[-1]) is _ast.Expr:
                    if not self._is_quiet(source, body[-1]):
                        last = _ast.Expression(body.pop().value)
                codes = [compile(tree, name, "exec", flags, True)]
            except RecursionError:
                # The tree is too deep for Python, not for the compiler.
                last = None
                codes = [compile(source, name, "exec", flags, True)]
        else:
            codes = [compile(source, name, "exec", flags, True)]
        self._flags |= codes[0].co_flags & _K_ANNOTATIONS
        if last is not None:
            flags |= self._flags
            codes.append(compile(last, name, "eval", flags, True))
        return codes

    @staticmethod
    def _is_quiet(source, last):
        """Whether a semicolon follows the last expression."""
        if ";" not in source:
            return False
        # The parser's lines, which end as those of a file.
        lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        rest = lines[last.end_lineno - 1 :]
        rest[0] = rest[0].encode()[last.end_col_offset :].decode("utf-8", "replace")
        return any(";" in line.partition("#")[0] for line in rest)

    def _without_magic(self, source, problem):
        """What IPython makes of its own syntax. Raises the problem when there is
        none of it."""
        lines = [line.strip() for line in source.split("\n")]
        marked = any(line[:1] in ("%", "!", "?") or line[-1:] == "?" for line in lines)
        if not marked and "!" not in source and "%" not in source:
            raise problem.with_traceback(None)
        shell = self._shell()
        if shell is None:
            if marked:
                raise _KernelUsageError(_K_NO_IPYTHON) from None
            raise problem.with_traceback(None)
        changed = shell.transform_cell(source)
        if changed.strip() == source.strip():
            raise problem.with_traceback(None)
        return changed

    def _shell(self):
        if self.screen.shell is None:
            # The kernel hears of it, see kernel_ipython.py.
            try:
                __import__("IPython")
            except ImportError:
                return None
        return self.screen.shell

    def _evaluate(self, code):
        if code.co_flags & _K_COROUTINE:
            return self._await(eval(code, self.names))
        if self._needs_loop(code.co_names):
            return self._await(self._call_in_loop(code))
        return eval(code, self.names)

    @staticmethod
    def _needs_loop(names):
        known = "asyncio" in names or "asyncio" in _k_modules
        return known and not _K_LOOP_NAMES.isdisjoint(names)

    async def _call_in_loop(self, code):
        return eval(code, self.names)

    def _await(self, coroutine):
        """Lets the loop run until this has ended. Tasks that go on do so in the
        next cell that waits."""
        asyncio = _k_own("asyncio")
        loop = self._loop
        if loop is None or loop.is_closed() or asyncio is not self._asyncio:
            loop = self._loop = asyncio.new_event_loop()
            self._asyncio = asyncio
        asyncio.set_event_loop(loop)
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                loop.run_until_complete(asyncio.wait([task], timeout=1))
            raise

    def _revive_loop(self):
        # asyncio.run() leaves none behind.
        if self._loop is not None:
            try:
                self._asyncio.set_event_loop(self._loop)
            except Exception:
                self._loop = None  # of an asyncio that a cell has unloaded

    def _show_result(self, value):
        self.screen.show_value("result", value)
        names, number = self.names, self.count
        last = self._last
        if "_" not in vars(builtins):
            known = all(names.get("_" * i, last[i - 1]) is last[i - 1] for i in (1, 2, 3))
            last[:] = value, last[0], last[1]
            if known:
                names["_"], names["__"], names["___"] = last
        if value is not self.outputs:
            names[f"_{number}"] = self.outputs[number] = value
            if len(self.outputs) > _K_MAX_OUT:
                oldest = next(iter(self.outputs))
                self.outputs.pop(oldest)
                names.pop(f"_{oldest}", None)

    def _register(self, name, source):
        """For tracebacks and inspect.getsource()."""
        lines = [f"{line}\n" for line in source.split("\n")]
        self._sources[name] = (len(source), None, lines, name)
        self._tell_linecache()

    def _tell_linecache(self):
        # Ours is traceback's; cells may have another.
        for linecache in (_k_own("linecache"), _k_modules.get("linecache")):
            try:
                linecache.cache.update(self._sources)
            except Exception:
                pass  # none, or whatever a cell has put there

    # What a cell died of.

    def report(self, error):
        """An error that IPython has caught, and shows. Not the cell's last word,
        but what it ends with."""
        if self._outcome is None:
            self._outcome = self._describe(f"<cell {self.count}>", error)

    def _describe(self, name, error):
        if error is None:
            return self._outcome or _KernelOutcome("ok", 0)
        kind = type(error)
        if issubclass(kind, SystemExit):
            code, words = _k_exit_code(error)
            if words is not None:
                _k_note_whole(words)
            return _KernelOutcome("exit", code)
        # First, because traceback takes an interrupt of it for its failure.
        value = _k_text(error)
        try:
            text = self._traceback(name, error)
        except (Exception, SystemExit):
            text = f"{kind.__name__}: {value}\n"
        details = (
            kind.__name__,
            _k_cut(value, _K_MAX_VALUE),
            _k_cut(text, _K_MAX_TRACEBACK),
        )
        frames = _k_traceback_of(error)
        if issubclass(kind, MemoryError):
            # What filled the memory is in its frames.
            self._clear_frames(frames)
        else:
            sys.last_type, sys.last_value = kind, error
            sys.last_traceback, sys.last_exc = frames, error
        if issubclass(kind, KeyboardInterrupt):
            return _KernelOutcome("interrupted", 130, details)
        return _KernelOutcome("error", 1, details)

    def _traceback(self, name, error):
        """As bare Python prints it."""
        traceback = _k_own("traceback")
        if type(error).__name__ == "UsageError":
            # Not the cell's Python, but a word of its that is none.
            return f"UsageError: {_k_text(error)}\n"
        self._tell_linecache()
        frames = error.__traceback__ = self._own_frames(name, error.__traceback__)
        depth = 0
        while frames is not None:
            frames, depth = frames.tb_next, depth + 1
        limit = -_K_SHOWN_FRAMES if depth > _K_MAX_FRAMES else None
        with _KernelLoan("ast"):
            told = traceback.TracebackException(
                type(error), error, error.__traceback__, limit=limit
            )
            return "".join(told.format())

    @staticmethod
    def _own_frames(name, frames):
        """Those from the cell on; of what never came to it, all but ours."""
        at = frames
        while at is not None:
            if at.tb_frame.f_code.co_filename == name:
                return at
            at = at.tb_next
        while frames is not None and frames.tb_frame.f_globals is globals():
            frames = frames.tb_next
        return frames

    @staticmethod
    def _clear_frames(frames):
        while frames is not None:
            try:
                frames.tb_frame.clear()
            except RuntimeError:
                pass  # one that still runs
            frames = frames.tb_next


class _KernelUsageError(Exception):
    __module__ = "builtins"


_KernelUsageError.__name__ = _KernelUsageError.__qualname__ = "UsageError"


def _k_note_whole(words):
    """What SystemExit says, to stderr as a program's."""
    try:
        _k_write(2, _k_bytes(words + "\n"))
    except OSError:
        pass
