import numpy as np

a = np.arange(24, dtype=float).reshape(2, 3, 4)
print(a, a.T.shape, a.dtype, a[..., ::2].flags.c_contiguous)
print(np.array([1, 2, 3], dtype="int8") + np.int16(300), np.float32(0.1), repr(np.float64(1) / 3))
print(np.einsum("ijk,ijk->i", a, a), np.where(a > 11, a, -1)[1], np.unique([3, 1, 3], return_counts=True))
np.set_printoptions(precision=2, suppress=True)
print(np.linspace(0, 1, 7), np.get_printoptions()["precision"])
print(np.geterr(), np.array(["a", "bcd"]).dtype, np.datetime64("2024-02-29") + 1)
rec = np.array([(1, 2.5)], dtype=[("x", int), ("y", float)])
print(rec["y"], rec.dtype.names, np.iinfo(np.int64).max)
