import atexit
import sys


class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name)


def f():
    inner = Noisy("local")
    sys.exit(Noisy("code"))


atexit.register(print, "atexit")
outer = Noisy("global")
f()
