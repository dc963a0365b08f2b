import numpy as np

a = np.arange(160_000, dtype=float).reshape(400, 400) % 7
b = a @ a.T
print(b.sum(), b[3, 4], np.linalg.matrix_rank(a), round(np.linalg.norm(a), 6))
q, r = np.linalg.qr(a[:5, :5] + np.eye(5))
print(np.allclose(q @ r, a[:5, :5] + np.eye(5)), np.linalg.eigvals(np.diag([1.0, 2.0])))
print(np.abs(np.fft.fft([1, 2, 3, 4])), np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6))
