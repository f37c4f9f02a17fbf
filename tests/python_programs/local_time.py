"""Local time of many zones, by files and by rules, through time, datetime and SQLite."""
import datetime
import os
import sqlite3
import time

ZONES = """Europe/Berlin Europe/London Europe/Dublin Asia/Tokyo Asia/Kolkata Asia/Kathmandu America/New_York America/Los_Angeles
    America/St_Johns Australia/Sydney Australia/Lord_Howe Pacific/Auckland Africa/Johannesburg America/Sao_Paulo Etc/GMT+5 Europe/Moscow
    UTC Etc/UTC :Europe/Paris /usr/share/zoneinfo/Asia/Tokyo EST5EDT EST5 CET-1CEST,M3.5.0,M10.5.0/3 CET-1CEST <+03>-3 <-03>3<-02>
    EST5EDT4,J59,J300/1:30 AAA3BBB,60/-2,300/26 NZST-12NZDT,M9.5.0,M4.1.0/3 Foo/Bar XYZ A ../../../etc/passwd""".split() + [""]
MOMENTS = [0, 86400 * 200, 1_000_000_000, 1_616_893_199, 1_616_893_200, 1_635_641_999, 1_635_642_000, 1_700_000_000, 1_720_000_000,
           2_500_000_000, 4_112_000_000, 7_000_000_000, -1_000_000_000]
WALLS = [(2021, 3, 28, 2, 30, 0), (2021, 10, 31, 2, 30, 0), (2021, 7, 1, 12, 0, 0), (2021, 1, 1, 0, 0, 0), (2024, 2, 29, 23, 59, 59)]

# Where glibc goes its own ways: rules before 1970, rules without dates in the far future.
RULES = {zone for zone in ZONES if zone[:1] in "<AEN" and any(map(str.isdigit, zone)) or zone.startswith("CET")}
UNDATED = {"CET-1CEST", "<-03>3<-02>"}

for zone in ZONES:
    os.environ["TZ"] = zone
    time.tzset()
    print(repr(zone), time.tzname, time.timezone, time.altzone, time.daylight)
    for moment in MOMENTS:
        if zone in RULES and moment < 0 or zone in UNDATED and moment > 2_000_000_000:
            continue
        local = time.localtime(moment)
        when = datetime.datetime.fromtimestamp(moment)
        aware = when.astimezone()
        print(moment, *local[:6], local.tm_isdst, local.tm_gmtoff, local.tm_zone, time.strftime("%H:%M %Z %z", local), when.isoformat(),
              aware.isoformat(), aware.tzname(), when.timestamp() == moment or when.replace(fold=1).timestamp() == moment)
    for wall in WALLS:
        print(*wall, [time.mktime((*wall, 0, 0, kind)) for kind in (-1, 0, 1) if kind >= 0 or wall[1] != 10], datetime.datetime(*wall).timestamp(),
              time.strftime("%c", (*wall, 0, 1, 0)))
    print(time.ctime(1_700_000_000), time.asctime(time.localtime(1_600_000_000)),
          sqlite3.connect(":memory:").execute("select datetime(1700000000, 'unixepoch', 'localtime')").fetchone())
os.environ["TZ"] = "Asia/Tokyo"
print(time.localtime(0).tm_hour, "a change of TZ counts from tzset on")
time.tzset()
print(time.localtime(0).tm_hour)
del os.environ["TZ"]
time.tzset()
print(time.tzname, time.localtime(0).tm_hour)
