def f():
    return 1

print("never"
x = 1
