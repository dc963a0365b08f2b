"""
>>> double(4)
8
>>> double("a")
'aab'
"""


def double(x):
    """
    >>> double(2)
    4
    """
    return x + x


if __name__ == "__main__":
    import doctest

    print(doctest.testmod())
