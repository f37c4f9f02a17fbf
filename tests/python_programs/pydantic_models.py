# packages: pydantic pydantic-settings
"""Models, validators, serializers, schemas, dataclasses, settings and the texts of errors."""
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import os
import pathlib
import typing
import uuid
from collections import deque
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

os.environ["PYDANTIC_ERRORS_INCLUDE_URL"] = "0"  # errors do not end with an address

import annotated_types
import pydantic
import pydantic_core
import typing_extensions
from pydantic import (AfterValidator, AliasChoices, AnyUrl, BaseModel, BeforeValidator, ByteSize, ConfigDict, Discriminator, EmailStr, Field,
                      HttpUrl, Json, NonNegativeInt, PlainSerializer, PositiveInt, PrivateAttr, RootModel, SecretStr, StrictInt, Tag, TypeAdapter,
                      ValidationError, WrapValidator, computed_field, conlist, constr, create_model, field_serializer, field_validator,
                      model_serializer, model_validator, validate_call)

print(pydantic.VERSION, pydantic_core.__version__)


def attempt(what, *args, **named):
    """The result, or what is wrong with each place."""
    try:
        print(repr(what(*args, **named)))
    except ValidationError as error:
        print(error)
        print([{**one, "input": repr(one["input"])} for one in error.errors(include_url=False, include_context=False)])
    except Exception as error:
        print(type(error).__name__, error)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    street: str
    city: str = "Bern"
    zip: Annotated[str, Field(pattern=r"^\d{4}$")]


class Person(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, validate_assignment=True, extra="forbid")
    name: Annotated[str, Field(min_length=2, max_length=10, description="What one is called")]
    age: Annotated[int, annotated_types.Ge(0), annotated_types.Lt(150)]
    height: float = Field(gt=0, default=1.7)
    colour: Colour = Colour.RED
    level: Level | None = None
    tags: set[str] = set()
    addresses: list[Address] = Field(default_factory=list)
    born: datetime.date | None = None
    parent: Optional["Person"] = None

    @field_validator("name")
    @classmethod
    def no_digits(cls, value):
        if any(c.isdigit() for c in value):
            raise ValueError("a name has no digits")
        return value

    @computed_field
    @property
    def initials(self) -> str:
        return "".join(part[0] for part in self.name.split())

    @model_validator(mode="after")
    def adults(self):
        if self.parent is not None and self.parent.age <= self.age:
            raise ValueError("a parent is older")
        return self


bo = Person(name=" Bo Li ", age="41", tags=["a", "b", "a"], addresses=[{"street": "x 1", "zip": "3000"}], born="1980-02-29", level=2)
print(repr(bo.name), bo.age, sorted(bo.tags), bo.addresses, bo.born, bo.level, bo.initials)
print(bo.model_dump(exclude={"tags"}))
print(bo.model_dump_json(exclude={"tags"}, indent=2))
print(bo.model_dump(mode="json", include={"born", "colour", "level"}), bo.model_fields_set == {"name", "age", "tags", "addresses", "born", "level"})
print(Person.model_validate_json(bo.model_dump_json(exclude={"initials"})) == bo)
print(bo.model_copy(update={"age": 42}).age, hash(json.dumps(Person.model_json_schema(), sort_keys=True)) != 0)
print(json.dumps(Person.model_json_schema(mode="serialization"), indent=1))
attempt(Person, name="B", age=-1, height="tall", colour="green", tags=5, addresses=[{"zip": "30"}, 7], born="1981-02-29", more=1)
attempt(Person, name="B0b", age=200.5, level=9)
attempt(Person, name="Ann", age=3, parent={"name": "Old", "age": 2})
attempt(setattr, bo, "age", "x")
attempt(Person.model_validate_json, '{"name": "Ann", "age": 3')
attempt(Person.model_validate_json, '{"name": "Ann", "age": "three"}')
attempt(Person.model_validate, 5)


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    a: int
    b: bytes = b"x"
    c: datetime.datetime | None = None


attempt(Strict, a="1")
attempt(Strict, a=True, b="x", c="2020-01-01")
attempt(Strict.model_validate_json, '{"a": 1, "b": "x", "c": "2020-01-01T10:00:00+02:00"}')
attempt(setattr, Strict(a=1), "a", 2)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: PositiveInt = 9


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    barks: NonNegativeInt


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]
pets = TypeAdapter(list[Pet])
print(pets.validate_python([{"kind": "cat"}, {"kind": "hound", "barks": "3"}]), pets.dump_json([Cat(kind="cat")]))
attempt(pets.validate_python, [{"kind": "bird"}, {}, {"kind": "dog"}])
print(json.dumps(pets.json_schema()))


def shape(value):
    return "list" if isinstance(value, list) else "one"


either = TypeAdapter(Annotated[Union[Annotated[list[int], Tag("list")], Annotated[int, Tag("one")]], Discriminator(shape)])
print(either.validate_python("5"), either.validate_json("[1, 2]"))
attempt(either.validate_python, ["x"])

for kind, values in {
    int: ["1", 1.0, 1.5, True, "1_000", " 7 ", "abc", None, 2 ** 70, "9" * 30, float("nan"), b"12"],
    float: ["1.5", "inf", 3, "x", b"1e3"],
    bool: ["yes", "off", 1, 0.0, "maybe", 2],
    str: [1, b"bytes", Colour.RED, b"\xff"],
    bytes: ["é", bytearray(b"x"), 3],
    datetime.datetime: ["2020-01-01T00:00:00Z", 1577836800, 1577836800.5, "2020-01-01 10:00:00.123456+05:30", "2020-13-01", "x"],
    datetime.date: ["2020-02-29", 1577836800, "2020-02-30", datetime.datetime(2020, 1, 1, 1)],
    datetime.time: ["10:00", "10:00:00.5", 36000, "25:00"],
    datetime.timedelta: ["P3DT12H30M5S", "1 days 10:00:00", 90.5, "-PT1H", "x"],
    decimal.Decimal: ["1.10", 1.1, "NaN", "x"],
    uuid.UUID: ["12345678-1234-5678-1234-567812345678", b"1" * 16, "x"],
    pathlib.Path: ["/tmp/x"],
    ipaddress.IPv4Address: ["127.0.0.1", "300.0.0.1"],
    HttpUrl: ["http://Exämple.org:80/a b?q=1#f", "ftp://x", "no url", "http://[::1]/x"],
    AnyUrl: ["postgres://user:pass@localhost:5432/app", "x"],
    ByteSize: ["1.5 KiB", "10MB", 5, "lots"],
    tuple[int, str]: [("1", "x"), [1], [1, 2, 3]],
    dict[str, int]: [{"a": "1"}, {1: 2}, [("a", 1)]],
    frozenset[int]: [[1, "1", 2], "x"],
    deque[int]: [["1"], 3],
    conlist(int, min_length=1, max_length=2): [[], [1, 2, 3]],
    constr(to_upper=True, pattern="^[A-Z]+$"): ["abc", "a1"],
    Json[list[int]]: ["[1, 2]", "[1, 'x']", "[\"x\"]"],
    StrictInt | str: ["1", 1, 1.0],
    typing.Callable[[], int]: [len, 3],
    type[Colour]: [Colour, Level],
    re_pattern if (re_pattern := __import__("re").Pattern) else None: ["a+", "a("],
    Colour: ["red", "pink", Colour.BLUE],
    Literal["a", 1, None]: ["a", 1, None, "b"],
    complex: ["1+2j", 3, "x"],
}.items():
    adapter = TypeAdapter(kind)
    for value in values:
        try:
            made = adapter.validate_python(value)
            print(repr(made) if kind is not frozenset[int] else sorted(made), adapter.dump_json(made).decode() if not callable(made) else "")
        except ValidationError as error:
            print(*(f"{one['type']}: {one['msg']}" for one in error.errors()), sep=" | ")
        except Exception as error:
            print(type(error).__name__, error)

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int = Field(validation_alias=AliasChoices("total", "count"), serialization_alias="n", default=0)
    secret: SecretStr = SecretStr("s")
    _seen: int = PrivateAttr(default=3)

    @field_serializer("total")
    def as_text(self, value: int) -> str:
        return f"<{value}>"


page = Page[int](items=["1"], count=3)
print(page, page.model_dump(), page.model_dump(by_alias=True), page._seen, Page[int].__name__)
attempt(Page[Address], items=[{"street": 1}])

Squared = Annotated[int, BeforeValidator(lambda value: int(value) ** 2), AfterValidator(lambda value: value + 1),
                    PlainSerializer(lambda value: f"#{value}", return_type=str)]


def lenient(value, handler):
    try:
        return handler(value)
    except ValidationError:
        return -1


class Wrapped(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.title(), populate_by_name=True, from_attributes=True, use_enum_values=True)
    a: Squared = 0
    b: Annotated[int, WrapValidator(lenient)] = 0
    colour: Colour = Colour.RED

    @model_serializer(mode="wrap")
    def more(self, handler):
        return {**handler(self), "more": True}


print(Wrapped(A=3, b="x", Colour="blue").model_dump(), Wrapped.model_validate(dataclasses.make_dataclass("D", ["A", "B"])(2, 3)).model_dump())
attempt(Wrapped, A="x")


@pydantic.dataclasses.dataclass
class Point:
    x: int
    y: float = Field(default=0, ge=0)

    def __post_init__(self):
        self.norm = self.x ** 2 + self.y ** 2


print(Point("3", 4).norm, TypeAdapter(Point).dump_python(Point(1)))
attempt(Point, "x", -1)


@validate_call(validate_return=True)
def repeat(text: str, /, times: PositiveInt, *rest: int, loud: bool = False) -> str:
    return (text.upper() if loud else text) * times + str(sum(rest))


print(repeat("ab", "2", "3", loud="yes"))
attempt(repeat, "a", 0)
attempt(repeat)
attempt(repeat, "a", 1, wrong=2)

Row = RootModel[dict[str, tuple[int, ...]]]
print(Row({"a": [1, "2"]}), Row.model_validate_json('{"b": []}').model_dump_json())
Made = create_model("Made", x=(int, ...), y=(str, "why"), __base__=Address)
attempt(Made, street="s", zip="1234", x="1")


class Typed(typing_extensions.TypedDict, total=False):
    a: typing.Required[int]
    b: list["Typed"]


attempt(TypeAdapter(Typed).validate_python, {"a": 1, "b": [{"a": "2", "b": []}]})
attempt(TypeAdapter(Typed).validate_python, {"b": [{"a": "x"}]})


class Named(typing.NamedTuple):
    a: int
    b: str = "b"


attempt(TypeAdapter(Named).validate_python, ["1"])
attempt(TypeAdapter(Named).validate_python, {"b": 1})


class Node(BaseModel):
    value: int
    next: Optional["Node"] = None


chain = None
for number in range(45):
    chain = Node(value=number, next=chain)
print(len(chain.model_dump_json()))
loop = {"value": 1}
loop["next"] = loop
attempt(Node.model_validate, loop)
deep = "[" * 300 + "]" * 300
attempt(TypeAdapter(Any).validate_json, deep)
print(TypeAdapter(list[int]).validate_json("[1, 2, 3", experimental_allow_partial=True))
print(pydantic_core.from_json('{"a": [1, 2.5, "x', allow_partial="trailing-strings"), pydantic_core.to_json({"t": (1, b"x", {2})}))
print(pydantic_core.to_jsonable_python({"when": datetime.timedelta(hours=1), "n": decimal.Decimal("1.0"), "u": uuid.UUID(int=1)}))
error = pydantic_core.PydanticCustomError("odd", "{n} is odd", {"n": 3})
print(error, error.type, error.context, repr(error))


class Settings(__import__("pydantic_settings").BaseSettings):
    model_config = {"env_prefix": "APP_", "env_nested_delimiter": "__"}
    port: int = 80
    nested: Address | None = None


os.environ |= {"APP_PORT": "8080", "APP_NESTED__STREET": "s", "APP_NESTED__ZIP": "1234"}
print(Settings())
os.environ["APP_PORT"] = "x"
attempt(Settings)
attempt(TypeAdapter, EmailStr)
