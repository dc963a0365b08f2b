import hashlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

print(matplotlib.get_backend(), plt.get_fignums(), plt.isinteractive(), matplotlib.rcParams["figure.figsize"])
x = np.linspace(0, 6, 50)
fig, axes = plt.subplots(1, 2, figsize=(4, 2))
axes[0].plot(x, np.sin(x), label="sin")
axes[0].legend()
axes[1].hist([1, 2, 2, 3], bins=3)
axes[1].set_title("Ünïcode $x^2$")
fig.tight_layout()
fig.savefig("a.png", metadata={"Software": None})
print(hashlib.sha256(open("a.png", "rb").read()).hexdigest(), plt.get_fignums(), plt.gcf() is fig)
plt.show()
plt.figure()
print(plt.get_fignums(), matplotlib.get_backend())
