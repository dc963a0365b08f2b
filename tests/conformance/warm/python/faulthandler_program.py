# needs: clean stack
import faulthandler
import sys

print(faulthandler.is_enabled())


def f():
    faulthandler.dump_traceback(all_threads=False)


f()
faulthandler.enable()
