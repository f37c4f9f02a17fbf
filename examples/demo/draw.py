# SPDX-License-Identifier: Apache-2.0
# What the shell wrote, read by pandas and drawn by matplotlib.
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

table = pd.read_csv("lines.csv")
by_layer = table.groupby("layer")["lines"].agg(["sum", "median", "count"]).sort_values("sum")
print("python: numpy", np.__version__, "and pandas", pd.__version__)
print(by_layer.to_string())

figure, axes = plt.subplots(figsize=(7, 3.5))
axes.barh(by_layer.index, by_layer["sum"], color="#5b8c5a")
axes.set_xlabel("lines of source")
axes.set_title("Cloche, counted by a shell and drawn by Python in one sandbox")
figure.tight_layout()
figure.savefig("lines.png", dpi=120)
