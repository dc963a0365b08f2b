"""The facts of files, for a process that does nothing else."""

import os
import sys


def _print_facts(paths):
    sources = []
    for path in paths:
        with open(path, "rb") as file:
            text = file.read()
        sources.append((path, text if _parses(path, text) else _without_magics(text)))
    left = analyse(sources)
    while left:
        left = left[os.write(1, left) :]


def _parses(path, text):
    try:
        _parse(path, text)
    except SyntaxError:
        return False
    return True


def _without_magics(text):
    """A cell as IPython would run it, where the image has that."""
    try:
        from IPython.core.inputtransformer2 import TransformerManager

        return TransformerManager().transform_cell(text.decode()).encode()
    except (ImportError, UnicodeError, SyntaxError):
        return text


_ANALYSE_ARGV = [b"-m", b"sandglass_analyse"]


def _prepare_nothing_after(paths):
    """In place of a zygote's program: tells the facts, and there is none. What is
    imported for that is never a program's."""
    sys.path[:] = _search_path
    _print_facts([os.fsdecode(path) for path in paths])
    return compile("", "", "exec", dont_inherit=True), {}
