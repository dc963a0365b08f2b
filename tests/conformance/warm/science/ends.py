import atexit
import sys

import numpy as np
import pandas as pd

atexit.register(lambda: print("at exit", np.add(1, 2), pd.Series([1]).sum()))


class Last:
    def __del__(self):
        print("gone", np.__name__ if np else np)


last = Last()
sys.exit(int(np.int64(5)))
