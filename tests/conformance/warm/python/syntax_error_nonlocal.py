import warnings
print("a" is "b")
def f():
    nonlocal x
