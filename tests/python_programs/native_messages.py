# packages: ormsgpack numpy pydantic
"""ormsgpack, whose code is Rust: what langgraph keeps its checkpoints with."""
import dataclasses
import datetime
import enum
import hashlib
import threading
import uuid

import numpy
import ormsgpack
import pydantic
from ormsgpack import packb, unpackb

OPTIONS = {name: getattr(ormsgpack, name) for name in sorted(dir(ormsgpack)) if name.startswith("OPT_")}


def shown(what, *args, **named):
    try:
        result = what(*args, **named)
        text = result.hex() if isinstance(result, bytes) else repr(result)
        return text if len(text) < 400 else f"{len(text)} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Colour(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Point:
    x: int
    y: float
    _hidden: int = 3
    beside: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class Slim:
    name: str


class Model(pydantic.BaseModel):
    name: str
    sizes: list[int] = []


class Text(str):
    pass


class Words(dict):
    pass


class Own:
    def __repr__(self):
        return "own"


print(ormsgpack.__version__, OPTIONS)
zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
values = [
    None, True, False, 0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, 2 ** 63, 2 ** 64 - 1, 2 ** 64, -1, -32, -33, -128, -129, -32768, -32769, -2 ** 31, -2 ** 31 - 1,
    -2 ** 63, -2 ** 63 - 1, 0.0, -0.0, 1.5, 1e308, float("inf"), float("-inf"), 5e-324, "", "a" * 31, "a" * 32, "a" * 255, "a" * 256, "ä\u2028\U0001f600\0", "\ud800", b"", b"x" * 255,
    b"x" * 256, b"x" * 65536, bytearray(b"ab"), memoryview(b"abc"), memoryview(b"abcd")[::2], [], [1] * 15, [1] * 16, [[]] * 65536, (1, "b"), {}, {"a": 1, "b": {"c": []}},
    {str(n): n for n in range(16)}, {1: 2}, {None: 1, True: 2, 1.5: 3, (1, 2): 4, b"k": 5}, {Own(): 1}, {1}, Own(), Point(1, 2.0), Slim("s"), Model(name="m", sizes=[1]), Colour.RED, Number.ONE,
    Text("t"), Words(a=1), uuid.UUID(int=5), datetime.date(1, 2, 3), datetime.time(1, 2, 3, 4), datetime.datetime(2020, 1, 1, 1, 2, 3, 4), datetime.datetime(2020, 1, 1, tzinfo=zone),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, tzinfo=datetime.timezone.utc), datetime.time(1, tzinfo=zone),
    ormsgpack.Ext(5, b"data"), ormsgpack.Ext(-128, b""), ormsgpack.Ext(127, b"x" * 300), ormsgpack.Fragment(packb([1, 2])), numpy.arange(6).reshape(2, 3), numpy.float32(0.1),
    numpy.float16(1.5), numpy.int64(-3), numpy.uint8(200), numpy.bool_(True), numpy.array([True, False]), numpy.array(["2020-01-01", "1969-01-01"], dtype="datetime64[ms]"),
    numpy.array([1.5, 2.5], dtype="float16"), numpy.array(5), numpy.array([[1, 2], [3, 4]]).T, numpy.array(["a"]), numpy.array([], dtype="int32"), numpy.zeros((2, 0, 3)), {"k": numpy.int16(2)},
    numpy.datetime64("2021-05-06T07:08:09.123456"), numpy.arange(3, dtype="uint64") + 2 ** 63,
]
for value in values:
    first = shown(packb, value)
    print(first, shown(lambda: unpackb(packb(value)) == value) if not first.startswith(("Msgpack", "TypeError")) and not isinstance(value, numpy.ndarray) else "")
everything = ormsgpack.OPT_SERIALIZE_NUMPY | ormsgpack.OPT_SERIALIZE_PYDANTIC | ormsgpack.OPT_NON_STR_KEYS
for value in values:
    print(shown(packb, value, option=everything, default=repr))
for name, option in OPTIONS.items():
    chosen = [{"b": 1, "a": datetime.datetime(2020, 1, 1, 1, 2, 3, 4)}, datetime.datetime(2020, 1, 1, 1, 2, 3, 4, tzinfo=datetime.timezone.utc), 2 ** 70, Point(1, 2.0), Colour.RED, Text("t"),
              (1,), uuid.UUID(int=7), {3: 4}, "\ud800", numpy.float64(1.5), Model(name="x")]
    print(name, [shown(packb, value, option=option, default=lambda value: f"<{type(value).__name__}>") for value in chosen])
for option in (-1, 1 << 30, "1", 1.0, True, None):
    print(shown(packb, [1], option=option), shown(unpackb, b"\x01", option=option))
print(shown(packb), shown(packb, 1, 2), shown(packb, 1, default=5), shown(packb, Own(), default=5), shown(packb, Own(), default=lambda value: value), shown(packb, Own(), default=lambda value: 1 // 0))
print(shown(packb, Own(), default=lambda value: {"own": [value.__class__.__name__]}), shown(packb, [Own(), 1], default=lambda value: None))

stream = [b"", b"\xc1", b"\x91", b"\x92\x01", b"\xdb\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xa1\xff", b"\xa2\xc3", b"\x01\x01", b"\x81\x01\x02",
          b"\x81\xc0\x02", b"\x81\x90\x02", b"\x81\xa1a", b"\xd4\x05x", b"\xc7\x00\x05", b"\xc7\x05\x05x", b"\xd6\xff\x00\x00\x00\x01", b"\xca\x7f\xc0\x00\x00", b"\xcb\x7f\xf0", b"\xd9\x05abc", b"\xcf" + b"\xff" * 8,
          b"\xd3\x80" + b"\0" * 7, b"\x82\xa1a\x01\xa1a\x02", b"\xdc\x00\x03\x01\x02\x03", b"\xde\x00\x01\xa1k\xc2", b"\xc4\x03abc"]
for data in stream:
    print(data.hex(), shown(unpackb, data), shown(unpackb, data, option=ormsgpack.OPT_NON_STR_KEYS), shown(unpackb, data, ext_hook=lambda tag, data: (tag, bytes(data))))
print(shown(unpackb, "text"), shown(unpackb, None), shown(unpackb, bytearray(b"\x01")), shown(unpackb, memoryview(b"\x93\x01\x02\x03")), shown(unpackb, numpy.array([1], dtype="uint8")))
print(shown(unpackb, b"\xd4\x05x", ext_hook=lambda tag, data: 1 // 0), shown(unpackb, b"\xd4\x05x", ext_hook=5), shown(unpackb, b"\xd7\xff" + b"\0" * 8, option=ormsgpack.OPT_DATETIME_AS_TIMESTAMP_EXT))
moment = datetime.datetime(2024, 2, 29, 12, 0, 0, 999999, tzinfo=datetime.timezone.utc)
packed = packb(moment, option=ormsgpack.OPT_DATETIME_AS_TIMESTAMP_EXT)
print(packed.hex(), unpackb(packed, option=ormsgpack.OPT_DATETIME_AS_TIMESTAMP_EXT) == moment)
for depth in (100, 254, 255, 256, 1000, 20000):
    deep = value = []
    for _ in range(depth):
        value.append([])
        value = value[0]
    wide = {}
    for _ in range(depth):
        wide = {"k": wide}
    print(depth, shown(packb, deep)[:60], shown(packb, wide)[:60], shown(unpackb, b"\x91" * depth + b"\x90")[:60], shown(unpackb, b"\x81\xa1k" * depth + b"\x80")[:60])
itself = []
itself.append(itself)
print(shown(packb, itself), shown(packb, Own(), default=lambda value: [value]))
big = {"rows": [{"id": number, "name": f"row {number}", "value": number / 7, "tags": ["a", "b" * (number % 9)], "raw": b"x" * (number % 50)} for number in range(20000)]}
packed = packb(big)
print(len(packed), hashlib.sha256(packed).hexdigest()[:16], unpackb(packed) == big)
print(len(packb("ä" * 3_000_000)), unpackb(packb("ä" * 3_000_000)) == "ä" * 3_000_000, unpackb(packb(bytes(10_000_000))) == bytes(10_000_000))
keys = [{f"key {number} {'x' * (number % 70)}": number} for number in range(5000)]
print(unpackb(packb(keys)) == keys, all(unpackb(packb(each)) == each for each in keys), hash(next(iter(unpackb(packb({"hashed": 1}))))) == hash("hashed"))
results = []


def work():
    results.append(all(unpackb(packb(each)) == each for each in keys[:1000]))
    deep = []
    for _ in range(250):
        deep = [deep]
    results.append(unpackb(packb(deep)) == deep)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
