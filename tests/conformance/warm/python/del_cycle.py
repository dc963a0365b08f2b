import gc
import sys

gc.collect()  # and none that comes by itself in between


class Node:
    def __init__(self, name):
        self.name, self.other = name, None

    def __del__(self):
        print("gone", self.name, sys.is_finalizing())


x, y = Node("x"), Node("y")
x.other, y.other = y, x
z = Node("z")
z.other = z
del x, y
print("end")
