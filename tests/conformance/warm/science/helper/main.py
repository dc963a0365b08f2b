import numpy as np

from tools.stats import spread

print(spread(np.array([1.0, 4.0])), spread.__module__)
spread(None)
