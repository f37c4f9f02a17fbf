# packages: orjson jiter rpds-py jsonschema numpy
"""orjson, jiter and rpds, whose code is Rust, and jsonschema that stands on one of them."""
import dataclasses
import datetime
import enum
import json
import uuid

import jiter
import jsonschema
import numpy
import orjson
import rpds

print(orjson.__version__, jiter.__version__)


def attempt(what, *args, **named):
    try:
        print(repr(what(*args, **named)))
    except Exception as error:
        print(type(error).__name__, str(error))


@dataclasses.dataclass
class Point:
    x: int
    y: float
    _hidden: int = 3


class Colour(enum.Enum):
    RED = "red"


class Own:
    def __repr__(self):
        return "own"


texts = ['{"a":[1,2.5,-0.0,1e308,null,true,"é\\u0000\\ud83d\\ude00"],"b":{"c":{}}}', "[1,", '"\\ud800"', "01", "NaN", '{"a":1,"a":2}', "18446744073709551615",
         "-9223372036854775809", "1" * 40, "1e400", "[" * 1100 + "]" * 1100, "", " \n[ ] ", "tru", '{"a" 1}', '"\t"', "\ufeff1"]
for text in texts:
    attempt(orjson.loads, text)
    attempt(jiter.from_json, text.encode())
attempt(orjson.loads, b'"\xff"')
attempt(jiter.from_json, b'["a", {"b": 1', partial_mode=True)
attempt(jiter.from_json, b'["a", {"b": "tex', partial_mode="trailing-strings")
attempt(jiter.from_json, b"[1.10, NaN]", float_mode="decimal")
attempt(jiter.from_json, b"[1.10]", float_mode="lossless-float")
attempt(jiter.from_json, b"[NaN]", allow_inf_nan=False)
attempt(jiter.from_json, b'{"a": 1, "a": 2}', catch_duplicate_keys=True)
print(jiter.cache_usage() >= 0)
values = [
    {"b": 1, "a": [1.5, None, True, "é\u2028\x07"], 3: 4}, Point(1, 2.0), Colour.RED, uuid.UUID(int=5), datetime.datetime(2020, 1, 1, 1, 2, 3, 4),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))), datetime.date(1, 2, 3), datetime.time(1, 2, 3),
    2 ** 53, 2 ** 64, -2 ** 63, 1e22, 0.1 + 0.2, float("nan"), 5e-324, (1, 2), {1}, b"x", Own(), "\ud800", numpy.arange(4).reshape(2, 2), numpy.float32(0.1),
    numpy.array(["2020-01-01"], dtype="datetime64[s]"), {"k": numpy.int64(2)}, [[]] * 3, {None: 1, True: 2, 1.5: 3}, {Own(): 1},
]
for value in values:
    attempt(orjson.dumps, value)
    attempt(orjson.dumps, value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
            | orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC | orjson.OPT_APPEND_NEWLINE, default=repr)
attempt(orjson.dumps, {"a": orjson.Fragment(b"[1]")})
deep = []
for _ in range(300):
    deep = [deep]
attempt(orjson.dumps, deep)
big = {"rows": [{"id": number, "name": f"row {number}", "value": number / 7, "tags": ["a", "b" * (number % 9)]} for number in range(5000)]}
print(orjson.loads(orjson.dumps(big)) == big == jiter.from_json(json.dumps(big).encode()), len(orjson.dumps(big)))

table = rpds.HashTrieMap({"a": 1}).insert("b", 2).update({"c": 3})
print(sorted(table.items()), table.get("z"), "a" in table, len(table.remove("a")), table == rpds.HashTrieMap({"b": 2, "a": 1, "c": 3}))
attempt(lambda: table["missing"])
attempt(table.discard("zz").remove, "zz")
attempt(rpds.HashTrieMap, {"a": []}.items())
print(rpds.List([1, 2, 3]).push_front(0), rpds.List([1]).rest, rpds.HashTrieSet([1]).update([2]) == rpds.HashTrieSet([2, 1]), rpds.Queue([1, 2]).peek())
print(rpds.Stack([1, 2]).peek(), hash(rpds.HashTrieSet([1])) == hash(rpds.HashTrieSet([1])))

schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["a"], "unevaluatedProperties": False,
          "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "array", "prefixItems": [{"type": "string"}], "items": False}},
          "$defs": {"n": {"type": "integer", "minimum": 2}}}
validator = jsonschema.Draft202012Validator(schema)
for value in ({"a": 3}, {"a": 1, "b": [1, 2], "c": 3}, {}, []):
    print(sorted(f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(value)))
attempt(jsonschema.Draft202012Validator.check_schema, {"type": "nothing"})
