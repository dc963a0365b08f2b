import sys

sys.setrecursionlimit(10**9)


def descend(depth):
    return descend(depth + 1)  # Python's own frames lie in the heap


descend(0)
