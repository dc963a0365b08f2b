import atexit
import sys

sys.excepthook = lambda *args: sys.exit("left by the hook")
atexit.register(lambda: print("__file__" in globals()))
raise ValueError("x")
