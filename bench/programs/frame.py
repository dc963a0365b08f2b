import matplotlib.pyplot as plt
import pandas as pd

frame = pd.DataFrame({'a': range(1000), 'b': range(1000)})
print('run 0' if int((frame.a + frame.b).sum()) == 999000 else 'wrong')
