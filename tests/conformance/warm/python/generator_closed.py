def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("closed")


def broken():
    try:
        yield
    finally:
        raise ValueError("at close")


a = numbers()
next(a)
b = broken()
next(b)
print("end")
