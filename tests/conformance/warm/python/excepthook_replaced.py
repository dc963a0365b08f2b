import sys


def hook(kind, error, trace):
    print("hook", kind.__name__, error, trace.tb_lineno, trace.tb_next)
    print(sys.exc_info(), sys.last_value is error)


sys.excepthook = hook
raise ValueError("x")
