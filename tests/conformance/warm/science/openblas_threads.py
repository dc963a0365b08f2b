import os

import numpy as np

a = np.ones((300, 300))
a @ a
print(len(os.listdir("/proc/self/task")), os.environ["OMP_NUM_THREADS"])
