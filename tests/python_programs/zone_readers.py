# packages: python-dateutil pandas numpy
"""Time zones as those find them who read the first version of their files alone, such as dateutil."""
import datetime
import struct
import zoneinfo

import pandas as pd
from dateutil import parser, tz

for name in "America/Los_Angeles Europe/Berlin Asia/Kolkata Asia/Tokyo Australia/Lord_Howe America/Sao_Paulo Africa/Casablanca Pacific/Apia UTC EST5EDT".split():
    zone, other = tz.gettz(name), zoneinfo.ZoneInfo(name)
    wrong = 0
    for day in range(0, 365 * 66, 13):
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=day, hours=day % 24)
        one, two = moment.astimezone(zone), moment.astimezone(other)
        wrong += (one.utcoffset(), one.tzname(), bool(one.dst())) != (two.utcoffset(), two.tzname(), bool(two.dst()))
    summer = datetime.datetime(2025, 7, 1, 12, tzinfo=zone)
    print(name, wrong, summer.isoformat(), summer.replace(month=1).tzname(), datetime.datetime(1930, 1, 1, tzinfo=zone).utcoffset())
print(parser.parse("2025-07-01 12:00 PDT", tzinfos={"PDT": tz.gettz("America/Los_Angeles")}).astimezone(tz.UTC))
print(pd.Timestamp("2025-07-01 12:00", tz="dateutil/America/Los_Angeles").tz_convert("Europe/Berlin"))
print(pd.date_range("2025-03-30", periods=3, freq="h", tz="dateutil/Europe/Berlin").tz_convert("UTC").tolist())
with open("/usr/share/zoneinfo/Europe/Berlin", "rb") as file:
    times = struct.unpack_from(">I", file.read(44), 32)[0]
print(times > 100)
