import atexit
import sys


def leave():
    print("leaving")
    sys.exit(7)


atexit.register(print, "after")
atexit.register(leave)
sys.exit(2)
