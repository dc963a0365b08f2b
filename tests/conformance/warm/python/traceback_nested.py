def a(x):
    return b(x + 1)


def b(x):
    values = [1, 2]
    return (lambda: values[x])() + 1


print("before")
a(5)
