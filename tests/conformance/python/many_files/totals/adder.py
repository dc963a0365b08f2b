from functools import reduce

from .basic import add


def add_all(numbers):
    return reduce(add, numbers, 0)
