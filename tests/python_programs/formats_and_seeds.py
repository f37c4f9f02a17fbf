"""Formats of time that the C library of the guests lacks, and what `random.seed` makes of a float."""
import datetime
import random
import time
from zoneinfo import ZoneInfo

WHENS = (datetime.datetime(2024, 2, 29, 13, 4, 5, 67), datetime.datetime(2024, 7, 4, 0, 9, tzinfo=ZoneInfo("Europe/Berlin")),
         datetime.date(1999, 12, 31), datetime.time(1, 2, 3))
FORMATS = ("%l:%M %p", "%k:%M", "%-l%P", "%I:%M %P on %A", "%0k %_l %3l|%5k", "%^a %^b %#p %#a %^B", "%q %E %", "100%% %l%%", "%Y-%m-%d %-d %_d %H", "", "ä %l", "%f|%z|%:z")
for when in WHENS:
    for form in FORMATS:
        print(repr(when.strftime(form)))
for form in FORMATS[:-1]:
    print(repr(time.strftime(form, time.gmtime(1709211845))), repr(time.strftime(form, (2024, 2, 29, 0, 0, 0, 3, 60, 0))))
print(f"{WHENS[0]:%l %P}", len(time.strftime("%l:%M")), time.strftime("%l", time.gmtime(0)), datetime.datetime.strptime("1:05 PM", "%I:%M %p").hour)
for bad in ((2024, 13, 1, 0, 0, 0, 0, 1, 0), (1, 2), [1], 5):
    try:
        print(time.strftime("%l", bad))
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
for start in (3.5, -0.25, 0.0, -1.0, 1e300, 5e-324, float("inf"), float("-inf"), 0.1, 2.0**61, 7, "text", b"bytes"):
    random.seed(start)
    print(start, random.random(), random.Random(start).randrange(10**12), random.Random(start).getrandbits(70))
