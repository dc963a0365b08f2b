"""The Python kernel: the last part of it, which speaks.

It is told on a pipe, one JSON object a line, what to do, and writes events to a
descriptor, one a line too:

    {"op":"run","id":7,"code":"1+1","rich":true}
    {"ev":"display","id":7,"kind":"result","data":{"text/plain":"2"},"metadata":{}}
    {"ev":"done","id":7,"status":"ok","exit_code":0,"count":1}

A display with "ack":true is answered by {"op":"ack"}: the cell goes on then.
After a cell that is run with "last":true there is no "done": the interpreter
ends as after a program.

What a cell prints goes to descriptors 1 and 2, past all this. A cell may do to
the process what it likes. The kernel goes on as long as both channels are as
they were, and ends when they are not.
"""

import io
import os
from _signal import default_int_handler as _k_default_interrupt
from _signal import getsignal as _k_get_handler
from _signal import raise_signal as _k_raise_signal
from _signal import signal as _k_set_handler
from posix import dup2 as _k_dup2
from posix import read as _k_read
from _thread import get_ident as _k_thread

_K_MAIN = "main.py"
_K_READ = 64 * 1024
_K_ACK = b'{"op":"ack"}\n'
_K_INTERRUPT = 2
_K_LEAST_RECURSION = 500
_K_TRIES = 3
_K_LOOPS = 8
_K_MOST_RESULTS = 100
_K_MOST_RESULT_BYTES = 8 * 1024 * 1024


def _k_move_high(fd):
    """Out of the way of a cell's files, and not for what it executes."""
    for high in (253, 252, 251, 120, 119, 118, 60, 59, 58, 30, 29, 28):
        try:
            _k_fstat(high)
            continue  # taken
        except OSError:
            pass
        try:
            _k_dup2(fd, high, False)
        except OSError:
            continue  # above the limit of open files
        os.close(fd)
        return high
    os.set_inheritable(fd, False)
    return fd


class _KernelStreams:
    """Descriptors 0, 1 and 2, and the file objects in sys."""

    __module__ = "sandglass"

    def __init__(self, flush_c_files):
        self._flush_c_files = flush_c_files
        self._input = sys.stdin
        self._reads_null = False
        for name in ("stdout", "stderr"):
            # What was written has left the process, as with PYTHONUNBUFFERED.
            if isinstance(getattr(sys, name).buffer, io.BufferedIOBase):
                self._open_output(name)
        self._kept = {
            fd: (high, _k_identity(high))
            for fd in (1, 2)
            for high in [_k_move_high(os.dup(fd))]
        }

    def _open_output(self, name):
        fd = 1 if name == "stdout" else 2
        raw = io.open(fd, "wb", 0, closefd=False)
        raw.name = f"<{name}>"
        errors = "strict" if fd == 1 else "backslashreplace"
        file = io.TextIOWrapper(raw, "utf-8", errors, "\n", write_through=True)
        file.mode = "w"
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)

    def set_input(self, content):
        """What the next cell reads: end of file without content, which is
        base64."""
        before = getattr(sys, "stdin", None)
        if content is None and self._reads_null and self._is_null():
            if before is self._input and not self._input.closed:
                return
        else:
            self._open_input(content)
        raw = io.open(0, "rb", closefd=False)
        file = io.TextIOWrapper(raw, "utf-8", "surrogateescape")
        file.mode = "r"
        # A cell may have put an object of its own there, which stays.
        if content is not None or before in (None, self._input):
            sys.stdin = file
        self._input = sys.__stdin__ = file

    def _is_null(self):
        try:
            return _k_identity(0) == self._null
        except OSError:
            return False

    def _open_input(self, content):
        self._reads_null = content is None
        if content is None:
            fd = os.open("/dev/null", os.O_RDONLY)
        else:
            a2b_base64 = _k_own("binascii").a2b_base64
            fd = os.memfd_create("stdin", 0)
            rest = memoryview(a2b_base64(content))
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.lseek(fd, 0, os.SEEK_SET)
        if fd != 0:
            _k_dup2(fd, 0)
            os.close(fd)
        if content is None:
            self._null = _k_identity(0)

    def flush(self):
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except KeyboardInterrupt:
                raise
            except BaseException:
                pass  # whatever a cell has put there
        if self._flush_c_files is None and "ctypes" in _k_modules:
            # Who has that may have called printf().
            self._flush_c_files = _k_modules["ctypes"].pythonapi.fflush
        if self._flush_c_files is not None:
            self._flush_c_files(None)

    @staticmethod
    def _is(fd, identity):
        try:
            return _k_identity(fd) == identity
        except OSError:
            return False

    def repair(self):
        """What a cell has closed, or turned to another file, is as it was for the
        next one."""
        for fd, name in ((1, "stdout"), (2, "stderr")):
            high, identity = self._kept[fd]
            if not self._is(fd, identity) and self._is(high, identity):
                _k_dup2(high, fd)
            file = getattr(sys, name, None)
            if file is None or getattr(file, "closed", False) is True:
                self._open_output(name)


class _Kernel:
    __module__ = "sandglass"

    def __init__(
        self, module, commands, events, loaded_by_start, flush_c_files=None
    ):
        self._pid = _k_getpid()
        self._commands = commands
        self._commands_identity = _k_identity(commands)
        self._chunks = []  # of what was read; a line is taken out of them
        self._line = None
        self._tries = 0
        self._channel = _KernelChannel(events)
        self._streams = _KernelStreams(flush_c_files)
        self._screen = _KernelScreen(self._channel, self._streams.flush)
        self._cells = _KernelCells(module, self._screen)
        self._screen.may_wait = self._may_wait
        self._screen.await_taken = self._await_taken
        self._thread = _k_thread()
        self._module = module
        self._loaded_by_start = loaded_by_start
        self._id = None
        self._last_words = []
        words = ("KernelError", "", "KernelError\n")
        self._lost_outcome = _KernelOutcome("error", 1, words)
        # Whether a cell's code may run, and a signal's handler raise. Else
        # signals are blocked, with what a cell had blocked put aside.
        self._is_open = False
        self._mask = _k_mask(_k_block, ()) - {_K_INTERRUPT}
        self._handler = _k_default_interrupt
        self._begins = self._interrupted_early = False
        # The exit code, once the last cell has been run.
        self._is_last, self._end = False, None

    def serve(self):
        """Ends with SystemExit, after the last cell; else it never returns."""
        try:
            self._start()
            # A handler of a cell's alarm may raise here, too: also where one
            # step leads to the next. Such an alarm ends one of these loops, which
            # the one around it begins again, unless another alarm comes just then.
            self._again(*[self._again] * (_K_LOOPS - 1), self._step)
        finally:
            if self._end is None:
                _k_exit(_K_CHANNEL_GONE)
        self._module = self._first_modules = None
        self._open()
        self._cells.end()
        raise SystemExit(self._end)

    def _again(self, step, *arguments):
        while self._end is None:
            try:
                step(*arguments)
            except BaseException:
                pass  # an alarm's, or too little memory

    def _step(self):
        # What was cut short: after a cell its end has still to be told.
        self._close_surely()
        self._finish_surely(None)
        if self._end is None:
            self._wait_for_line()
            self._obey()

    def _start(self):
        select = _k_own("select")
        json = _k_own("json")
        self._decode = json.JSONDecoder().decode
        self._poll = select.poll()
        self._poll.register(self._commands, select.POLLIN)
        for function in (self._screen.display, self._screen.clear_output):
            name = function.__name__
            __builtins__[name] = function
            setattr(builtins, name, function)
        # To itself a cell is the program's main file. Mostly there is no such file:
        # what would open it, as multiprocessing does, asks __main__.
        __builtins__["__file__"] = builtins.__file__ = os.path.abspath(_K_MAIN)
        os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
        _k_watch_imports(self._cells)
        self._way = _KernelWay(self._loaded_by_start)
        self._first_modules = dict(_k_modules)
        _k_set_handler(_K_INTERRUPT, self._on_interrupt)
        self._streams.set_input(None)
        self._channel.send(b'{"ev":"ready","pid":%d}' % self._pid)

    # Commands.

    # A cell's handler may raise in all of this. Nothing is lost then: CPython
    # calls none between the parts of one assignment, nor within a C function.

    def _wait_for_line(self):
        self._begins = self._interrupted_early = False
        while self._line is None:
            if not self._chunks or b"\n" not in self._chunks[-1]:
                self._read_some()
                continue
            self._begins = True
            text = b"".join(self._chunks)
            at = text.index(b"\n")
            rest = text[at + 1 :]
            chunks = [rest] if rest else []
            self._line, self._chunks, self._tries = text[:at], chunks, 0

    def _read_some(self):
        try:
            _k_mask(_k_set_mask, self._mask)
            self._poll.poll()
        finally:
            _k_mask(_k_block, _K_SIGNALS)
        self._begins = True
        try:
            if _k_identity(self._commands) != self._commands_identity:
                _k_exit(_K_CHANNEL_GONE)
            self._chunks.extend(map(_k_read, (self._commands,), (_K_READ,)))
        except OSError as error:
            if _k_is_from_system(error):
                _k_exit(_K_CHANNEL_GONE)
        if self._chunks and not self._chunks[-1]:
            self._leave()

    def _on_interrupt(self, _number, _frame):
        """SIGINT between cells: nobody's, unless the next cell is on its way.
        SIG_IGN instead would be inherited by what a thread executes."""
        if self._begins or self._poll.poll(0):
            self._interrupted_early = True

    def _obey(self):
        self._tries += 1
        if self._tries > _K_TRIES:
            self._line = None  # nothing that can be obeyed
            return
        command = self._decode(self._line.decode())
        if command["op"] == "quit":
            try:
                _k_flush_open_files()
            finally:
                self._leave()
        if command["op"] == "ack":
            self._line = None  # came too late for who waited
        if command["op"] == "run":
            _k_quote(command["code"])  # which has to be text
            self._line, self._id = None, int(command["id"])
            self._run(command)

    def _may_wait(self):
        """Not a thread nor a process that the cell has started."""
        mine = _k_thread() == self._thread and _k_getpid() == self._pid
        return mine and self._is_open

    def _await_taken(self):
        """Until the daemon has taken what is displayed. It writes nothing else
        while a cell runs."""
        try:
            if _k_identity(self._commands) == self._commands_identity:
                _k_read(self._commands, len(_K_ACK))
        except OSError as error:
            if not _k_is_from_system(error):
                raise

    def _leave(self):
        try:
            self._streams.flush()
        finally:
            _k_exit(0)

    # Cells.

    def _run(self, command):
        rich = command.get("rich", True)
        self._is_last = bool(command.get("last"))
        if self._is_last:
            self._write_main(command["code"])
        self._screen.begin(
            self._id,
            command.get("max_results", _K_MOST_RESULTS),
            command.get("max_result_bytes", _K_MOST_RESULT_BYTES),
        )
        self._streams.set_input(command.get("stdin"))
        _k_modules["__main__"] = self._module
        self._way.make()
        self._cells.begin(command["code"])
        outcome = None
        try:
            self._open()
            if "args" in command:
                sys.argv[1:] = command["args"]
            outcome = self._cells.run(command["code"], rich)
            self._streams.flush()
            if not self._is_last:
                self._streams.repair()
        except BaseException as error:
            # A second interrupt, or one where the cell's error was looked at.
            outcome = self._plainly(error)
        self._close_surely()
        self._restore()
        self._finish_surely(outcome)

    @staticmethod
    def _write_main(code):
        """A program may read or start itself. A file that came with it stays."""
        try:
            with open(_K_MAIN, "x", encoding="utf-8", newline="") as file:
                file.write(code)
        except (OSError, ValueError):
            pass

    @staticmethod
    def _plainly(error):
        name = type(error).__name__
        if issubclass(type(error), KeyboardInterrupt):
            return _KernelOutcome("interrupted", 130, (name, "", f"{name}\n"))
        return _KernelOutcome("error", 1, (name, "", f"{name}\n"))

    def _open(self):
        self._is_open = True
        _k_mask(_k_set_mask, self._mask)
        _k_set_handler(_K_INTERRUPT, self._handler)
        if self._interrupted_early:
            self._interrupted_early = False
            _k_raise_signal(_K_INTERRUPT)

    def _close_surely(self):
        while self._is_open:
            try:
                self._close()
            except BaseException:
                pass

    def _close(self):
        self._begins = False
        mask = _k_mask(_k_block, _K_SIGNALS)
        handler = _k_get_handler(_K_INTERRUPT)
        _k_set_handler(_K_INTERRUPT, self._on_interrupt)
        if handler != self._on_interrupt:
            # A cell's own stays, but no cell makes the next deaf.
            self._handler = handler if callable(handler) else _k_default_interrupt
            self._mask = mask - {_K_INTERRUPT}
        self._is_open = False

    def _restore(self):
        if sys.getrecursionlimit() < _K_LEAST_RECURSION:
            sys.setrecursionlimit(_K_LEAST_RECURSION)
        now = vars(builtins)
        if not __builtins__.keys() <= now.keys():
            for name, value in __builtins__.items():
                now.setdefault(name, value)
        if "sys" not in _k_modules:
            _k_modules.update(self._first_modules)

    def _finish_surely(self, outcome):
        # A handler may raise in the midst of it, where a thread took the signal.
        # Each step therefore either has been done or not.
        while self._id is not None or self._last_words:
            try:
                if self._id is not None:
                    words = self._finish(self._id, outcome)
                    self._last_words, self._id = words, None
                if self._last_words:
                    self._channel.send_first(self._last_words)
            except BaseException:
                outcome = outcome or self._lost_outcome
        while self._channel.waits:
            try:
                self._channel.finish()
            except BaseException:
                pass

    def _finish(self, cell_id, outcome):
        """The last words of a cell, as entries of the channel's."""
        if outcome is None:
            outcome = self._lost_outcome
        if self._is_last:
            self._end = outcome.exit_code
        if _k_getpid() != self._pid:
            self._leave_child(outcome)
            return []  # it ends as the last cell does
        words = []
        if outcome.error is not None:
            error = b",".join(
                b'"%s":%s' % (name, _k_bytes(_k_quote(text)))
                for name, text in zip((b"name", b"value", b"traceback"), outcome.error)
            )
            words.append(b'{"ev":"error","id":%d,%s}' % (cell_id, error))
        words += self._screen.end(cell_id, self._is_last)
        if not self._is_last:
            words.append(
                b'{"ev":"done","id":%d,"status":"%s","exit_code":%d,"count":%d}'
                % (
                    cell_id,
                    outcome.status.encode(),
                    outcome.exit_code,
                    self._cells.count,
                )
            )
        return [self._channel.entry(line) for line in words]

    def _leave_child(self, outcome):
        """A process that the cell forked came to the cell's end."""
        if outcome.error is not None:
            _k_note_whole(outcome.error[2].rstrip("\n"))
        if self._is_last:
            return
        _k_flush_open_files()
        self._streams.flush()
        _k_exit(outcome.exit_code)
