"""The kernel in a zygote's child; a part of zygote.py.

Its files come before this one. None of it runs in a child that has a program.
"""

_KERNEL_ARGV = [b"-m", b"sandglass_kernel"]
# Compiled here, so that no child pays for it.
_KERNEL_CODE = compile("_kernel.serve()", "<kernel>", "exec", dont_inherit=True)


def _prepare_kernel(events, env):
    """The kernel in place of a program: it has commands on descriptor 0 and runs
    cells in a new __main__. Where it returns, the last cell's program ends."""
    global _kernel, _main
    _set_environment(env)
    sys.argv = [_K_MAIN]
    sys.orig_argv = [sys.executable]
    # The working directory, as it will be.
    sys.path[:] = ["", *_python_path(), *_search_path]
    if "logging" in _modules:
        _modules["logging"]._startTime = time.time()
    if _blas:
        _set_blas_threads()
    module = _main = _modules["__main__"] = type(sys)("__main__")
    vars(module)["__builtins__"] = builtins
    commands = _k_move_high(os.dup(0))
    _kernel = _Kernel(
        module, commands, events, LOADED_BY_START, _flush_c_files
    )
    return _KERNEL_CODE, globals()
