import atexit
import sys


def at_end():
    print(sys.exc_info(), sys.last_type, sys.last_value)
    import traceback
    traceback.print_last(file=sys.stdout)


atexit.register(at_end)
{}["x"]
