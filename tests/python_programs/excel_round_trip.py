# packages: pandas openpyxl
"""A workbook written and read back, by pandas and by openpyxl."""
import openpyxl
import pandas as pd
from openpyxl.styles import Font

frame = pd.DataFrame({"name": ["Ann", "Bob"], "n": [1, 2], "x": [0.5, None], "when": pd.to_datetime(["2024-01-01", "2024-02-02"])})
with pd.ExcelWriter("book.xlsx", engine="openpyxl") as writer:
    frame.to_excel(writer, sheet_name="data", index=False)
    frame.groupby("name")["n"].sum().to_excel(writer, sheet_name="sums")
back = pd.read_excel("book.xlsx", sheet_name=None)
print(list(back), back["data"].equals(frame), back["data"]["when"].dt.year.tolist(), back["sums"].values.tolist())
book = openpyxl.load_workbook("book.xlsx")
sheet = book["data"]
sheet["F1"] = "=SUM(B2:B3)"
sheet["A1"].font = Font(bold=True)
sheet.append(["Cyd", 3])
book.save("more.xlsx")
again = openpyxl.load_workbook("more.xlsx")["data"]
print(again.dimensions, again["F1"].value, again["A1"].font.bold, [cell.value for cell in again[4]][:2])
print(pd.read_excel("more.xlsx", usecols="A:B")["n"].sum())
