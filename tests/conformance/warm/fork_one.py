"""Runs one program by zygote.py, in place of the native half.

    python3 fork_one.py LIBRARY MODULES ENV PROGRAM [ARGUMENT...]

LIBRARY is stand_in.c compiled, or "": then the program's frames have one of
this file beneath. MODULES are parted by spaces, the environment's entries by
newlines. With FORK_ONE_TIMES set, the last line on stderr has the microseconds
of prepare, of the program and of finish.
"""

import os
import sys
import types

PARTS = os.path.abspath(__file__ + "/../../../../policy/data/languages/python")


def load_zygote():
    # In no module's namespace, as the zygote's own main file.
    module = types.ModuleType("zygote")
    for name in (
        "zygote_end.py", "zygote_environment.py", "zygote_rehearsal.py",
        "kernel_own.py", "kernel_display.py", "kernel_cells.py",
        "kernel_ipython.py", "kernel.py", "zygote_kernel.py", "analyse_names.py",
        "analyse_tell.py", "analyse_files.py", "zygote.py",
    ):  # fmt: skip
        path = os.path.join(PARTS, name)
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), vars(module))
    return module


def play_native_half(zygote, argv, env, timed):
    clock = sys.modules["time"].perf_counter_ns
    # Looked up before the program can set a trace function.
    set_trace = sys.modules["ctypes"].pythonapi.PyEval_SetTrace
    set_profile = sys.modules["ctypes"].pythonapi.PyEval_SetProfile
    zygote.rehearse()
    ended = []
    times = [clock()]
    try:
        code, namespace = zygote.prepare(argv, env)()
        times.append(clock())
        try:
            exec(code, namespace)
        finally:
            del code, namespace
            set_trace(None, None)
            set_profile(None, None)
    except BaseException as error:
        ended.append(error)
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        error.__traceback__ = frames
        del frames
    times.append(clock())
    code = zygote.finish(ended)
    times.append(clock())
    if timed:
        steps = [f"{(b - a) // 1000}" for a, b in zip(times, times[1:])]
        os.write(2, f"{' '.join(steps)}\n".encode())
    os._exit(code)


def main():
    library, modules, env = sys.argv[1:4]
    argv = [os.fsencode(argument) for argument in sys.argv[4:]]
    env = [os.fsencode(entry) for entry in env.split("\n")]
    timed = os.environ.pop("FORK_ONE_TIMES", "")
    del sys.path[0]
    zygote = load_zygote()
    zygote.get_ready(modules.split())
    if library:
        from ctypes import PyDLL, py_object

        play = PyDLL(library).RunProgram
    child = os.fork()
    if child == 0:
        if not library:
            play_native_half(zygote, argv, env, timed)
        values = zygote.rehearse, zygote.prepare, zygote.finish, argv, env
        play(*[py_object(value) for value in values])
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        import signal

        if code not in (-signal.SIGKILL, -signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
