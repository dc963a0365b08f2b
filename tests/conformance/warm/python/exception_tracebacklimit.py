import sys

sys.tracebacklimit = 1


def f():
    1 / 0


f()
