import atexit
import os
import sys

atexit.register(print, "never")
sys.stdout.write("written")
os._exit(6)
