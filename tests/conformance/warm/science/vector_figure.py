import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

print(plt.get_backend())
plt.rcParams["svg.hashsalt"] = "x"
plt.bar(["a", "b"], [1, 2])
plt.xlabel("letters")
plt.savefig("b.svg", metadata={"Date": None})
print(len(open("b.svg").read()), re.findall("<svg", open("b.svg").read()))
plt.style.use("ggplot")
print(plt.rcParams["axes.facecolor"], len(plt.style.available))
