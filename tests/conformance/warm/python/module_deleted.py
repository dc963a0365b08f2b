import sys

del sys.modules["__main__"]
print(__name__)
x = 1


def f():
    return x


print(f())
