import sys


def hook(kind, error, trace):
    print("hook", kind)
    sys.exit(8)


sys.excepthook = hook
raise KeyboardInterrupt
