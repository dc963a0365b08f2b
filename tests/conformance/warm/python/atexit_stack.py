# needs: clean stack
import atexit
import traceback


def at_end():
    traceback.print_stack()


atexit.register(at_end)
