"""Sales by region from a CSV text, as a table."""
import csv
import io
from collections import defaultdict
from decimal import Decimal

TEXT = """date,region,product,units,price
2024-01-03,north,widget,10,2.50
2024-01-04,south,gadget,3,19.99
2024-01-04,north,gadget,1,19.99
2024-02-11,east,widget,40,2.45
2024-02-12,south,widget,7,2.50
2024-03-01,east,"gizmo, large",2,105.00
"""

totals = defaultdict(lambda: {"units": 0, "revenue": Decimal(0)})
for row in csv.DictReader(io.StringIO(TEXT)):
    entry = totals[row["region"]]
    entry["units"] += int(row["units"])
    entry["revenue"] += int(row["units"]) * Decimal(row["price"])

print(f"{'Region':<10}{'Units':>8}{'Revenue':>12}")
for region, entry in sorted(totals.items(), key=lambda item: -item[1]["revenue"]):
    print(f"{region:<10}{entry['units']:>8}{entry['revenue']:>12,.2f}")
print(f"{'total':<10}{sum(e['units'] for e in totals.values()):>8}{sum(e['revenue'] for e in totals.values()):>12,.2f}")

with open("report.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["region", "units", "revenue"])
    writer.writerows((region, e["units"], e["revenue"]) for region, e in sorted(totals.items()))
print(open("report.csv").read(), end="")
