import multiprocessing
import subprocess
import sys

import numpy as np


def square(n):
    return int(np.int64(n) ** 2)


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, range(5)))
    print(subprocess.run([sys.executable, "-c", "import numpy; print(numpy.add(1, 2))"],
                         capture_output=True, text=True))
