# packages: pandas
"""A messy table: types, gaps, duplicates, outliers, groups, pivot, dates."""
import io

import numpy as np
import pandas as pd

TEXT = """id,name,city,joined,amount,active
1, Ann ,Praha,2024-01-05,10.5,yes
2,bob,praha,2024-02-30,,no
2,bob,praha,2024-02-30,,no
3,Cyd,BRNO,2024-03-01,"1,200.75",yes
4,,Brno,2024-03-09,n/a,YES
5,Eve,Plzen,2023-12-31,-7,no
"""

frame = pd.read_csv(io.StringIO(TEXT), na_values=["n/a"], thousands=",", skipinitialspace=True).drop_duplicates()
frame["name"] = frame["name"].str.strip().str.title().fillna("Unknown")
frame["city"] = frame["city"].str.title()
frame["joined"] = pd.to_datetime(frame["joined"], errors="coerce")
frame["active"] = frame["active"].str.lower().map({"yes": True, "no": False})
frame["amount"] = frame["amount"].fillna(frame["amount"].median()).clip(lower=0)
print(frame.to_csv(index=False), end="")
print(frame.groupby("city")["amount"].agg(["count", "sum", "mean"]).round(2).to_csv(), end="")
print(frame.pivot_table(index="city", columns="active", values="amount", aggfunc="sum", fill_value=0).to_csv(), end="")
print(frame["joined"].dt.to_period("M").astype(str).value_counts().sort_index().to_dict())
series = pd.Series(np.arange(6.0), index=pd.date_range("2024-01-01", periods=6, freq="D"))
print(series.resample("2D").sum().tolist(), series.rolling(3).mean().dropna().tolist())
merged = frame.merge(pd.DataFrame({"city": ["Praha", "Brno"], "zip": ["110 00", "602 00"]}), on="city", how="left")
print(merged[["id", "zip"]].fillna("-").values.tolist())
print(frame.describe()["amount"].round(3).to_dict())
print(frame.query("amount > 5 and active").sort_values("amount", ascending=False)["name"].tolist())
frame.to_json("frame.json", orient="records", date_format="iso")
print(pd.read_json("frame.json").shape, frame.isna().sum().sum())
