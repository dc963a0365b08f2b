import warnings

import numpy as np

print(np.array([1.0, 0.0]) / np.array([0.0, 0.0]))
print(np.log(np.array([-1.0])), np.float32(1e38) * np.float32(10))
with np.errstate(divide="raise"):
    try:
        np.array([1.0]) / 0
    except FloatingPointError as error:
        print("caught", error)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    np.mean([])
print([str(w.message) for w in seen])
np.array([1.0]) / 0
