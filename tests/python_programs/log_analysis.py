"""Status codes, slow requests and error bursts of an access log."""
import re
from collections import Counter
from datetime import datetime, timedelta

LINES = [
    f'10.0.0.{i % 5} - - [12/Mar/2024:10:{i // 60:02}:{i % 60:02} +0000] "GET /item/{i % 7} HTTP/1.1" {500 if i % 11 == 0 else 404 if i % 13 == 0 else 200} {i * 37 % 5000} {i % 17 * 21}'
    for i in range(240)
]
PATTERN = re.compile(r'(?P<ip>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<method>\w+) (?P<path>\S+) [^"]*" (?P<status>\d{3}) (?P<size>\d+) (?P<ms>\d+)')

with open("access.log", "w") as file:
    file.write("\n".join(LINES) + "\nbroken line\n")

status, paths, slow, bad, times = Counter(), Counter(), [], 0, []
with open("access.log") as file:
    for number, line in enumerate(file, 1):
        match = PATTERN.match(line)
        if not match:
            bad += 1
            continue
        status[match["status"]] += 1
        paths[match["path"]] += int(match["size"])
        if int(match["ms"]) > 330:
            slow.append((int(match["ms"]), number))
        if match["status"] == "500":
            times.append(datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z"))

print("status:", dict(sorted(status.items())))
print("bytes :", paths.most_common(3))
print("slow  :", sorted(slow, reverse=True)[:4], "of", len(slow))
print("bad   :", bad)
gaps = [b - a for a, b in zip(times, times[1:])]
print("gap   :", max(gaps), min(gaps), sum(gaps, timedelta()) / len(gaps))
