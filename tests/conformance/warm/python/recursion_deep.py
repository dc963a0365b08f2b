import sys

sys.setrecursionlimit(60000)


def total(n):
    return n + total(n - 1) if n else 0


print(total(50000))


class Node:
    def __init__(self, below):
        self.below = below

    def __repr__(self):
        return f"({self.below!r})"


node = None
for _ in range(300):
    node = Node(node)
print(len(repr(node)))
