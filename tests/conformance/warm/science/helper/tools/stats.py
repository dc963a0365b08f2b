import pandas as pd


def spread(values):
    return float(pd.Series(values).max() - values.min())
