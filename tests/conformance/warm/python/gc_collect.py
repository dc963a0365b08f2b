import gc
import weakref


class Node:
    pass


node = Node()
node.me = node
reference = weakref.ref(node)
del node
print(gc.collect() > 0, reference())
print(gc.collect(), gc.garbage, len([o for o in gc.get_objects() if type(o).__name__ == "Animal"]))
