"""What a cell shows; the second part of the Python kernel.

A kernel runs cells one after another and keeps their names. Commands come and
events go as lines of JSON, see kernel.py. Its files are one text: in a zygote
they come before zygote.py, and kernel_start.py makes a program of them. All
that is theirs therefore has Kernel or _k_ in its name.
"""

import builtins
import sys
from _json import encode_basestring as _k_quote
from _signal import SIG_BLOCK as _k_block, SIG_SETMASK as _k_set_mask
from _signal import pthread_sigmask as _k_mask
from _thread import RLock as _KernelLock
from posix import _exit as _k_exit
from posix import fstat as _k_fstat
from posix import getpid as _k_getpid
from posix import write as _k_write

_k_modules = sys.modules

# The kernel ends with this when it can no longer be spoken with.
_K_CHANNEL_GONE = 70
# HUP, INT, USR1, USR2, ALRM, TERM, CHLD, VTALRM, PROF and WINCH.
_K_SIGNALS = frozenset((1, 2, 10, 12, 14, 15, 17, 26, 27, 28))

_K_METHODS = (
    ("text/html", "_repr_html_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/latex", "_repr_latex_"),
    ("text/markdown", "_repr_markdown_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)
_K_PLAIN_TYPES = frozenset(
    (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
)
_K_MAX_JSON_DEPTH = 64
_K_MAX_MIME = 200
_K_MAX_NOTE = 1000


def _k_bytes(text):
    """UTF-8. Half a surrogate pair, which it can't have, becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        pairs = text.encode("utf-16-le", "surrogatepass")
        return pairs.decode("utf-16-le", "replace").encode()


def _k_identity(fd):
    state = _k_fstat(fd)
    return state.st_dev, state.st_ino


def _k_note(text):
    """A word to who wrote the cell."""
    try:
        _k_write(2, _k_bytes(text[:_K_MAX_NOTE] + "\n"))
    except OSError:
        pass


def _k_json(value, depth=0):
    """JSON that every reader takes: no NaN, no endless depth or number."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _k_quote(str.__str__(value))
    if isinstance(value, int):
        number = int(value)
        return str(number) if -(2**63) <= number < 2**64 else f'"{number:#x}"'
    if isinstance(value, float):
        number = float(value)
        finite = number - number == 0
        return float.__repr__(number) if finite else "null"
    if depth >= _K_MAX_JSON_DEPTH:
        raise ValueError("nested too deeply for JSON")
    if isinstance(value, dict):
        pairs = [
            f"{_k_quote(str(name))}:{_k_json(one, depth + 1)}"
            for name, one in value.items()
        ]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_k_json(one, depth + 1) for one in value]) + "]"
    # A number or an array of a library's.
    convert = getattr(value, "tolist", None)
    if convert is None:
        raise TypeError(f"{type(value).__name__} is nothing that JSON has")
    return _k_json(convert(), depth + 1)


def _k_is_text(mime):
    return mime.startswith("text/") or mime in (
        "image/svg+xml",
        "application/javascript",
        "application/xml",
    )


def _k_encode(mime, value):
    """The JSON of a value of this type."""
    if mime == "application/json" or mime.endswith("+json"):
        return _k_bytes(_k_json(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        if _k_is_text(mime):
            value = bytes(value).decode("utf-8", "replace")
        else:
            b2a_base64 = _k_own("binascii").b2a_base64
            return b'"' + b2a_base64(value, newline=False) + b'"'
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text or bytes")
    return _k_bytes(_k_quote(str.__str__(value)))


def _k_call(value, method, *args, **named):
    """What a method returns of an object that nobody knows, None when it
    fails."""
    try:
        return method(*args, **named)
    except (KeyboardInterrupt, MemoryError):
        raise
    except NotImplementedError:
        return None
    except BaseException as error:
        name = getattr(method, "__name__", "repr")
        _k_note(f"{name} of {type(value).__name__}: {_k_describe(error)}")
        return None


def _k_describe(error):
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _k_repr(value):
    text = _k_call(value, repr, value)
    return object.__repr__(value) if text is None else text


def _k_is_from_system(error):
    """Not a TimeoutError that some handler raises."""
    return isinstance(error, OSError) and error.errno is not None


class _KernelChannel:
    """Where the events go."""

    __module__ = "sandglass"

    def __init__(self, fd):
        self._fd = fd
        self._identity = _k_identity(fd)
        self._pid = _k_getpid()
        self.lock = _KernelLock()
        self.waits = []
        self._writes = False

    def send(self, line):
        """Writes one line, whole."""
        self.send_first([self.entry(line)])

    @staticmethod
    def entry(line):
        # With what of it has been written, piece by piece.
        return line + b"\n", []

    def send_first(self, entries):
        """Takes the first of the entries and writes it. Only the kernel's own
        process speaks: not what a cell has forked."""
        if _k_getpid() != self._pid:
            return
        # A handler that raises would come in the midst of it.
        before = _k_mask(_k_block, _K_SIGNALS)
        try:
            with self.lock:
                # ORDER: no handler can come between taking and keeping.
                self.waits.extend(map(entries.pop, (0,)))
                if not self._writes:
                    self._write_all()
        finally:
            _k_mask(_k_set_mask, before)

    def finish(self):
        """After an exception in the midst of writing: does the rest."""
        with self.lock:
            self._write_all()

    def _write_all(self):
        self._writes = True
        problem = None
        try:
            while self.waits:
                try:
                    self._write_first()
                except BaseException as error:
                    if _k_is_from_system(error):
                        _k_exit(_K_CHANNEL_GONE)
                    # A handler's: where a thread has taken the signal.
                    problem = error
        finally:
            self._writes = False
        if problem is not None:
            raise problem

    def _write_first(self):
        if _k_identity(self._fd) != self._identity:
            _k_exit(_K_CHANNEL_GONE)
        line, written = self.waits[0]
        while sum(written) < len(line):
            rest = memoryview(line)[sum(written) :]
            # ORDER: a handler can't come between writing and noting it.
            written.extend(map(_k_write, (self._fd,), (rest,)))
        del self.waits[0]


class _KernelScreen:
    """Turns values into events, within the bounds of the cell that runs."""

    __module__ = "sandglass"

    def __init__(self, channel, flush):
        self._channel = channel
        self._flush = flush
        self._id = None
        self._goes_on = False
        self._dropped = 0
        # IPython's shell, when there is one.
        self.shell = None
        # Whether a cell can wait until a display was taken, and what waits.
        self.may_wait = lambda: False
        self.await_taken = None

    def begin(self, cell_id, most, most_bytes):
        self._left, self._bytes_left = most, most_bytes
        self._dropped = self._dropped_bytes = 0
        self._id = cell_id

    def end(self, cell_id, goes_on=False):
        """From here on nothing is shown, unless it goes on: the cell's last words
        follow. Returns the first of them, if any."""
        with self._channel.lock:
            if not goes_on:
                self._id = None
            self._goes_on = goes_on
            if not self._dropped:
                return []
            dropped = b'{"ev":"dropped","id":%d,"count":%d,"bytes":%d}' % (
                cell_id,
                self._dropped,
                self._dropped_bytes,
            )
            self._dropped = self._dropped_bytes = 0
            return [dropped]

    # The functions that cells call.

    def display(
        self,
        *values,
        include=None,
        exclude=None,
        metadata=None,
        raw=False,
        clear=False,
        **_others,
    ):
        if clear:
            self.clear_output(wait=True)
        for value in values:
            if raw:
                self.show("display", value, metadata)
            else:
                self.show_value("display", value, include, exclude, metadata)

    def clear_output(self, wait=False):
        self._flush()
        with self._channel.lock:
            if self._id is not None:
                word = b"true" if wait else b"false"
                self._channel.send(
                    b'{"ev":"clear","id":%d,"wait":%s}' % (self._id, word)
                )

    def show_figures(self, *_args, **_named):
        """Shows the figures of pyplot, and closes them."""
        helpers = _k_modules.get("matplotlib._pylab_helpers")
        if helpers is None or not helpers.Gcf.figs:
            return
        managers = helpers.Gcf.get_all_fig_managers()
        for manager in sorted(managers, key=lambda manager: manager.num):
            figure = manager.canvas.figure
            if figure.axes or figure.lines:
                self.show_value("display", figure)
        helpers.Gcf.destroy_all()

    # How a value is shown.

    def show_value(self, kind, value, include=None, exclude=None, metadata=None):
        shell = self.shell
        if shell is not None:
            data, notes = self._ask_shell(shell, value)
        else:
            data, notes = self._ask_value(value)
        if data is None:
            return
        if "text/plain" not in data:
            data["text/plain"] = _k_repr(value)
        if self._is_figure(value):
            self._add_figure(value, data)
        if include:
            data = {mime: data[mime] for mime in data if mime in include}
        if exclude:
            data = {mime: data[mime] for mime in data if mime not in exclude}
        if metadata:
            notes = {**notes, **metadata}
        if shell is not None and kind == "display":
            # Which may be one that only collects.
            shell.display_pub.publish(data, notes)
        else:
            self.show(kind, data, notes)

    def _ask_shell(self, shell, value):
        shell.kernel_formats += 1
        try:
            data, notes = shell.display_formatter.format(value)
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            _k_note(f"display of {type(value).__name__}: {_k_describe(error)}")
            return {}, {}
        finally:
            shell.kernel_formats -= 1
        if not data and callable(self._method(value, "_ipython_display_")):
            return None, None
        return data, notes

    def _ask_value(self, value):
        if type(value) in _K_PLAIN_TYPES:
            return {}, {}
        data, notes = {}, {}
        if self._method(value, "_ipython_canary_method_should_not_exist_"):
            # It answers to every name.
            return data, notes
        method = self._method(value, "_repr_mimebundle_")
        if method:
            bundle = _k_call(value, method, include=None, exclude=None)
            if type(bundle) is tuple and len(bundle) == 2:
                bundle, notes = bundle
                notes = dict(notes) if isinstance(notes, dict) else {}
            if isinstance(bundle, dict):
                data.update(bundle)
        if not data:
            method = self._method(value, "_ipython_display_")
            if method and self._show_themselves(value, method):
                return None, None
        for mime, name in _K_METHODS:
            method = mime not in data and self._method(value, name)
            shown = _k_call(value, method) if method else None
            if type(shown) is tuple and len(shown) == 2:
                shown, note = shown
                if note:
                    notes[mime] = note
            if shown is not None:
                data[mime] = shown
        return data, notes

    @staticmethod
    def _show_themselves(value, method):
        def _ipython_display_():
            method()
            return True

        return _k_call(value, _ipython_display_) is True

    @staticmethod
    def _method(value, name):
        if issubclass(type(value), type):
            return None
        try:
            method = getattr(value, name, None)
        except Exception:
            return None
        return method if callable(method) else None

    @staticmethod
    def _is_figure(value):
        module = _k_modules.get("matplotlib.figure")
        return module is not None and issubclass(type(value), module.Figure)

    def _add_figure(self, figure, data):
        """As a picture; it counts as shown."""
        if not any(mime.startswith("image/") for mime in data):
            buffer = _k_own("io").BytesIO()
            named = dict(
                format="png",
                dpi=figure.dpi,
                facecolor=figure.get_facecolor(),
                edgecolor=figure.get_edgecolor(),
                bbox_inches="tight",
            )

            def print_figure():
                figure.canvas.print_figure(buffer, **named)
                return True

            if _k_call(figure, print_figure):
                data["image/png"] = buffer.getvalue()
        helpers = _k_modules.get("matplotlib._pylab_helpers")
        if helpers is not None:
            helpers.Gcf.destroy_fig(figure)

    def show(self, kind, data, notes=None):
        """Sends what is between a MIME type and its value in `data`."""
        self._flush()
        pieces = []
        for mime, value in dict(data).items():
            try:
                if not 0 < len(mime) <= _K_MAX_MIME or "/" not in mime:
                    raise ValueError("no MIME type")
                if value is None and not mime.endswith("json"):
                    continue
                piece = _k_encode(mime, value)
            except (KeyboardInterrupt, MemoryError):
                raise
            except Exception as error:
                _k_note(f"{str(mime)[:_K_MAX_MIME]} is left out: {_k_describe(error)}")
                continue
            pieces.append(_k_bytes(_k_quote(mime)) + b":" + piece)
        if not pieces:
            return
        try:
            notes = _k_bytes(_k_json(notes if isinstance(notes, dict) else {}))
        except Exception:
            notes = b"{}"
        # What the cell writes next is to come behind this. After a value comes
        # nothing.
        waits = kind == "display" and self.may_wait()
        with self._channel.lock:
            sent = self._send_within_bounds(kind, pieces, notes, waits)
        if sent and waits:
            self.await_taken()

    def _send_within_bounds(self, kind, pieces, notes, waits):
        if self._id is None:
            # A thread that has outlived its cell.
            return False
        size = sum(map(len, pieces)) + len(notes)
        left_out = 0
        # The largest go first: often a picture, and its text can stay.
        while pieces and (self._left <= 0 or size > self._bytes_left):
            largest = max(pieces, key=len)
            pieces.remove(largest)
            left_out += len(largest)
            size -= len(largest)
            if len(notes) > self._bytes_left:
                size -= len(notes) - 2
                notes = b"{}"
        if left_out:
            self._dropped += 1
            self._dropped_bytes += left_out
            if self._goes_on:
                for words in self.end(self._id, True):
                    self._channel.send(words)
        if pieces:
            self._left -= 1
            self._bytes_left -= size
            self._channel.send(
                b'{"ev":"display","id":%d,"kind":"%s","data":{%s},"metadata":%s%s}'
                % (
                    self._id,
                    kind.encode(),
                    b",".join(pieces),
                    notes,
                    b',"ack":true' if waits else b"",
                )
            )
        return bool(pieces)
