import atexit
import sys


class Noisy:
    def __del__(self):
        print("gone")


noisy = Noisy()
atexit.register(print, "at exit")
sys.setrecursionlimit(20)
# A whole line gets no carets, which 3.13 has no depth left for.
raise ValueError("low")
