import pandas as pd

df = pd.DataFrame({"a": [1, 2]})
try:
    df["b"]
except KeyError as error:
    print(repr(error))
part = df[df.a > 1]
part["c"] = 1
df.loc[5]
