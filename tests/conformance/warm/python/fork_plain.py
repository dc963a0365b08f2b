import atexit
import os
import sys

atexit.register(lambda: print("at exit of", who))
who = "parent"
child = os.fork()
if child == 0:
    who = "child"
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
