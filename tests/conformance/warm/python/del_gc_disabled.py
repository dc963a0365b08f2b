import gc

gc.disable()


class Node:
    def __init__(self):
        self.me = self

    def __del__(self):
        print("gone")


Node()
kept = Node()
print("end")
