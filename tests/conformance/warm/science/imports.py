import importlib
import sys

import numpy
import numpy as np
from numpy import array
from numpy.linalg import inv

assert numpy is np is sys.modules["numpy"] is importlib.import_module("numpy")
print(array([1]), inv(np.eye(1)), np.__version__, np.__file__, np.__spec__.name)
try:
    import numpyx
except ImportError as error:
    print(error)
try:
    from numpy import nothing
except ImportError as error:
    print(error)
import pandas.core.frame as frame

print(frame.DataFrame.__module__, pandas.__version__)
import matplotlib

print(matplotlib.get_configdir(), matplotlib.get_cachedir(), matplotlib.matplotlib_fname())
