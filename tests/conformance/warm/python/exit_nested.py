import sys


def f(n):
    try:
        if n == 0:
            sys.exit(5)
        f(n - 1)
    finally:
        print("unwinding", n)


f(3)
