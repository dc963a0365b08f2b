import atexit
import sys

atexit.register(print, "bye")
print("limit")
sys.setrecursionlimit(4)
raise SystemExit(3)
