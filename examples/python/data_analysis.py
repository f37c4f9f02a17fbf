# SPDX-License-Identifier: Apache-2.0
"""Data in, a table and a plot out: data_analysis.py [PICTURE]

The file goes into the sandbox, pandas and matplotlib work on it there, and what they draw comes back.
"""
import sys

from cloche import Sandbox

TABLE = """city,month,rain_mm
Aachen,1,72
Aachen,2,58
Aachen,3,66
Bergen,1,255
Bergen,2,195
Bergen,3,202
Cairo,1,5
Cairo,2,4
Cairo,3,4
"""

ANALYSIS = """
import pandas as pd
import matplotlib.pyplot as plt

table = pd.read_csv("rain.csv")
by_city = table.groupby("city")["rain_mm"].agg(["sum", "mean"]).sort_values("sum")
by_city.plot.barh(y="sum", legend=False, title="Rain, January to March (mm)")
plt.tight_layout()
print(by_city.round(1).to_string())
"""


def main() -> None:
    with Sandbox(packages=["pandas", "matplotlib"], timeout_ms=300_000) as sandbox:
        sandbox.files.write("rain.csv", TABLE)
        result = sandbox.python.execute(ANALYSIS, check=True)
        print(result.stdout, end="")
        result.figures[0].save(sys.argv[1] if len(sys.argv) > 1 else "rain.png")
        # Names stay: the next question needs no second reading.
        print(sandbox.python.execute("by_city['sum'].idxmax()").result)


if __name__ == "__main__":
    main()
