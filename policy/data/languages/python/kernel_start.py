"""Makes a program of the kernel: python3 kernel.py DESCRIPTOR, with commands on
its standard input and events to the descriptor."""


def _k_main():
    events = _k_move_high(int(sys.argv[1]))
    commands = _k_move_high(os.dup(0))
    # Registered there before a cell imports it: they know the cells' lines.
    __import__("traceback")
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    _k_modules["__main__"] = module
    sys.argv = [""]
    directory = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == directory:
        del sys.path[0]
    sys.path.insert(0, "")
    kernel = _Kernel(module, commands, events)
    kernel.serve()


if __name__ == "__main__":
    _k_main()
