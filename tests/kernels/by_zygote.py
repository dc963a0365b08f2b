"""The kernel as a zygote's child has it, without jail and native half.

    python3 by_zygote.py SCRIPT MODULES DESCRIPTOR

SCRIPT is a zygote's, whole. The process that gets ready is the kernel here,
where a zygote would have forked it.
"""

import os
import sys
import types


def main():
    path, modules, events = sys.argv[1:]
    del sys.path[0]
    # In no module's namespace, as the zygote's own main file.
    zygote = types.ModuleType("zygote")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), vars(zygote))
    known = [name.encode() + b"=" + os.fsencode(os.environ[name]) for name in os.environ]
    # As the native half has it: open, and not for what is executed.
    os.set_inheritable(int(events), False)
    zygote.get_ready(modules.split())
    zygote.rehearse()
    argv = [b"-m", b"sandglass_kernel", events.encode()]
    code, names = zygote.prepare(argv, known)()
    ended = []
    try:
        exec(code, names)
    except BaseException as error:
        ended.append(error)
    zygote.finish(ended)


main()
