import sys


def hook(kind, error, trace):
    raise LookupError("in the hook")


sys.excepthook = hook
raise ValueError("x")
