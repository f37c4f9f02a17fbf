"""A small class hierarchy: dataclasses, enums, protocols, properties, ordering, pattern matching."""
from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, auto
from typing import Protocol


class Kind(Enum):
    CIRCLE = auto()
    RECTANGLE = auto()
    GROUP = auto()


class Drawable(Protocol):
    def draw(self, depth: int = 0) -> str: ...


@dataclass(order=True)
class Shape(ABC):
    sort_key: float = field(init=False, repr=False)
    name: str = field(compare=False)

    def __post_init__(self):
        self.sort_key = self.area

    @property
    @abstractmethod
    def area(self) -> float: ...

    def draw(self, depth: int = 0) -> str:
        return "  " * depth + f"{self.name}: {self.area:.2f}"


@dataclass(order=True)
class Circle(Shape):
    radius: float = field(compare=False)

    @property
    def area(self):
        return 3.14159 * self.radius ** 2


@dataclass(order=True)
class Rectangle(Shape):
    width: float = field(compare=False)
    height: float = field(compare=False)

    @functools.cached_property
    def area(self):
        return self.width * self.height


@dataclass(order=True)
class Group(Shape):
    parts: list[Shape] = field(default_factory=list, compare=False)

    @property
    def area(self):
        return sum(part.area for part in self.parts)

    def draw(self, depth=0):
        return "\n".join([super().draw(depth), *(part.draw(depth + 1) for part in self.parts)])


def kind(shape: Drawable) -> Kind:
    match shape:
        case Circle(radius=r) if r > 0:
            return Kind.CIRCLE
        case Rectangle():
            return Kind.RECTANGLE
        case Group(parts=[_, *_]):
            return Kind.GROUP
        case _:
            raise TypeError(f"not drawn: {shape!r}")


shapes = [Rectangle("door", 2, 1), Circle("wheel", 1.5), Group("cart", [Circle("left", 1), Circle("right", 1)])]
for shape in sorted(shapes, key=lambda shape: shape.sort_key):
    print(kind(shape).name, shape.draw(), sep="\n")
print(asdict(shapes[0]), replace(shapes[1], name="rim"))
try:
    kind(Circle("none", 0))
except TypeError as error:
    print("TypeError:", error)
try:
    Shape("x")
except TypeError as error:
    print("abstract:", "abstract class Shape" in str(error))
