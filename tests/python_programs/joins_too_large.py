# packages: pandas
"""Joins of tables that would have more rows than fit into any memory here are a MemoryError, whatever their count is by 32 bits."""
import numpy as np
import pandas as pd


def table(rows, name, key=0):
    return pd.DataFrame({"key": np.full(rows, key), name: np.arange(rows)})


for left, right in ((65_536, 65_536), (65_537, 65_536), (70_000, 92_000), (2_000_000, 2_148)):
    for how in ("inner", "left", "right", "outer", "cross"):
        try:
            made = pd.merge(table(left, "a"), table(right, "b"), how=how, **({} if how == "cross" else {"on": "key"}))
            print(left, right, how, len(made))
        except MemoryError:
            print(left, right, how, "does not fit")
    for how in ("inner", "left", "outer"):
        try:
            print(left, right, how, len(table(left, "a").set_index("key").join(table(right, "b").set_index("key"), how=how)))
        except MemoryError:
            print(left, right, how, "of indexes does not fit")
many, few = table(70_000, "a", key=np.arange(70_000) % 35_000), table(70_000, "b", key=np.arange(70_000))
for how in ("inner", "left", "right", "outer"):
    made = many.merge(few, on="key", how=how)
    print(how, made.shape, int(made.fillna(-1).sum().sum()), len(many.set_index("key").sort_index().join(few.set_index("key").sort_index(), how=how)))
strings = table(70_000, "a").assign(key=[f"k{number % 50_000:05}" for number in range(70_000)])
print(len(strings.merge(strings, on="key")), len(strings.set_index("key").sort_index().join(strings.set_index("key").sort_index(), lsuffix="l", how="inner")))
