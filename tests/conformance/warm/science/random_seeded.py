import random

import numpy as np

np.random.seed(7)
print(np.random.rand(3), np.random.randint(0, 9, 5), np.random.permutation(5))
print(np.random.default_rng(7).normal(size=3), np.random.RandomState(7).choice(9, 4, replace=False))
print(np.random.get_state()[2], type(np.random.mtrand._rand).__name__)
random.seed(7)
print(random.random())
