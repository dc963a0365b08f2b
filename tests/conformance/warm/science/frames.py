import pandas as pd

df = pd.DataFrame({"city": ["Rome", "Oslo", "Rome", None], "n": [1, 2, 3, 4], "t": [20.5, None, 22.0, 1.0]})
print(df, df.dtypes, df.describe(include="all"), sep="\n")
print(df.groupby("city", dropna=False).agg({"n": "sum", "t": "mean"}))
print(df.pivot_table(index="city", values="n", aggfunc=["sum", "count"]), df.isna().sum().to_dict())
print(df.merge(pd.DataFrame({"city": ["Oslo"], "c": ["NO"]}), on="city", how="left").to_csv(index=False))
df["when"] = pd.date_range("2024-02-28", periods=4, freq="D", tz="UTC")
print(df.set_index("when").resample("2D").n.sum(), df.to_json(date_format="iso"), sep="\n")
df.info()
print(df.sort_values(["t", "n"], ascending=[False, True]).head(2).to_string(), df.n.sum())
print(pd.options.display.max_rows, pd.get_option("mode.chained_assignment"))
