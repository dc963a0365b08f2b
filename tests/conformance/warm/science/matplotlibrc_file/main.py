import matplotlib.pyplot as plt

print(plt.rcParams["lines.linewidth"], plt.rcParams["figure.figsize"])
