import atexit
import sys

atexit.register(print, "first in, last out")


@atexit.register
def second():
    print("second", __name__, "__file__" in globals(), sys.is_finalizing())
    atexit.register(print, "registered at exit")


atexit.register(print, "kept", "words", sep="-", end="!\n")
atexit.register(lambda: 1 / 0)
atexit.unregister(second)
atexit.register(second)
print("end")
