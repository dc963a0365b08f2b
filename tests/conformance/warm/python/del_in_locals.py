class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone", self.name)


def f():
    inner = Noisy("local")
    g(inner)


def g(thing):
    deeper = Noisy("deeper")
    raise ValueError("uncaught")


outer = Noisy("global")
f()
