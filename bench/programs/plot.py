import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import pandas as pd

frame = pd.DataFrame({'x': range(100)})
frame['y'] = frame.x ** 2
frame.plot(x='x', y='y')
plt.savefig('plot.png')
print('run 0')
