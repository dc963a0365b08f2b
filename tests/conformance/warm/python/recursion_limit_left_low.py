import atexit
import sys


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
atexit.register(print, "at exit")
sys.setrecursionlimit(20)
1 / 0
