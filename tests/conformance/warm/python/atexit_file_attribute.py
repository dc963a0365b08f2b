import atexit
import sys

atexit.register(lambda: print("__file__" in globals(), "__cached__" in globals(), __name__))
if len(sys.argv) > 5:
    sys.exit(1)
