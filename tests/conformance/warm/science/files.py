import io
import os

import numpy as np

a = np.arange(6).reshape(2, 3)
np.save("a.npy", a)
np.savez("b.npz", x=a, y=a * 2)
np.savetxt("c.txt", a, fmt="%d", delimiter=",")
print(np.load("a.npy"), sorted(np.load("b.npz").files), open("c.txt").read())
m = np.memmap("d.bin", dtype="u1", mode="w+", shape=(4,))
m[:] = [1, 2, 3, 4]
m.flush()
print(open("d.bin", "rb").read(), np.genfromtxt(io.StringIO("1 2\n3 4")), sorted(os.listdir(".")))
