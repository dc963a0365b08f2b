import numpy as np


def solve():
    return np.linalg.solve(np.zeros((2, 2)), np.ones(2))


try:
    solve()
except np.linalg.LinAlgError as error:
    print(type(error).__module__, error)
solve()
