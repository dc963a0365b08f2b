"""Computes 20! by recursion."""


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


print(f"20! = {factorial(20)}")
