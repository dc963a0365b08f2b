import numpy as np

a = np.ones((1 << 20, 1 << 20))
