import io

import pandas as pd

text = "day,x\n2024-01-31,1\n2024-02-29,2\n"
df = pd.read_csv(io.StringIO(text), parse_dates=["day"])
print(df, df.day.dt.day_name().tolist(), df.x.rolling(2).mean().tolist(), sep="\n")
print(pd.to_datetime("03/04/2024"), pd.Timedelta("1h") * 3, pd.Series([1, "x", None]).tolist())
print(pd.cut(pd.Series([1, 5, 9]), 3, labels=list("abc")).tolist())
pd.read_csv("missing.csv")
