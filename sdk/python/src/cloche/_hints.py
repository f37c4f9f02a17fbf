# SPDX-License-Identifier: Apache-2.0
"""JSON Schema from type hints, and values of the hinted types from JSON."""
from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import os
import types
import typing
from typing import Any, Callable, Union

from ._errors import SandboxArgumentError

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", tuple: "array",
          set: "array", frozenset: "array", dict: "object", type(None): "null"}
_ARRAYS = (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set,
           collections.abc.MutableSequence, collections.abc.Collection)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (Union, getattr(types, "UnionType", Union))
_PATH_LIKE: Any = os.PathLike  # a protocol with __slots__, of which pyright allows no issubclass


def hints_of(thing: Any) -> dict[str, Any]:
    """Names and their types; a hint that cannot be evaluated says nothing."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:
        found = getattr(thing, "__annotations__", {})
        names = {kind.__name__: kind for kind in _PLAIN}
        return {name: names.get(hint, Any) if isinstance(hint, str) else hint for name, hint in found.items()}


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """What a function takes. Raises SandboxArgumentError for one that does not say it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise SandboxArgumentError(f"{getattr(function, '__name__', repr(function))} does not say what it takes: give a "
                                   "function of Python's that calls it") from None


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """A JSON Schema of a function's keyword arguments, from its signature."""
    name = getattr(function, "__name__", repr(function))
    hints = hints_of(function)
    fields: dict[str, tuple[Any, Any]] = {}
    anything = False
    for parameter in signature_of(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            anything = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
            raise SandboxArgumentError(f"the callback {name} takes {star}{parameter.name} by position only: arguments "
                                       "of callbacks have names")
        else:
            fields[parameter.name] = (hints.get(parameter.name, Any), parameter.default)
    schemas = _Schemas()
    schema = _object(fields, inspect.Parameter.empty, anything, schemas)
    if definitions := schemas.definitions():
        schema["$defs"] = definitions
    return schema


class _Schemas:
    """The classes that a schema is being made of, and those among them that hold themselves."""

    def __init__(self) -> None:
        self._open: list[type] = []
        self._recursive: list[type] = []

    def of_class(self, kind: type) -> dict[str, Any]:
        if kind in self._open:
            if kind not in self._recursive:
                self._recursive.append(kind)
            return {"$ref": f"#/$defs/{kind.__name__}"}
        self._open.append(kind)
        try:
            return _schema_of_class(kind, self)
        finally:
            self._open.pop()

    def definitions(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind in self._recursive:  # grows meanwhile
            found[kind.__name__] = self.of_class(kind)
        return found


def _object(fields: dict[str, tuple[Any, Any]], parameter_empty: Any, anything: bool, schemas: _Schemas) -> dict[str, Any]:
    properties = {}
    for name, (hint, default) in fields.items():
        schema: dict[str, Any] = dict(schema_of_type(hint, schemas))
        if default is None and schema.get("type", schema.get("anyOf")) is not None and not _takes_none(schema):
            schema = {"anyOf": [schema, {"type": "null"}]}
        if default is not parameter_empty and isinstance(default, (str, int, float, bool)) and not isinstance(default, enum.Enum):
            schema["default"] = default
        properties[name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": anything}
    if required := [name for name, (_, default) in fields.items() if default is parameter_empty]:
        result["required"] = required
    return result


def _takes_none(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "null" or any(_takes_none(one) for one in schema.get("anyOf", ()))


def schema_of_type(hint: Any, schemas: _Schemas) -> dict[str, Any]:
    """What values of a type are as JSON; {} where anything may be."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema = dict(schema_of_type(arguments[0], schemas))
        words = [extra for extra in arguments[1:] if isinstance(extra, str)]
        return {**schema, "description": words[0]} if words else schema
    if hint is None:
        return {"type": "null"}
    if hint in _PLAIN if isinstance(hint, type) else False:
        return {"type": _PLAIN[hint]}
    if origin in UNIONS:
        return {"anyOf": [schema_of_type(one, schemas) for one in arguments]}
    if origin is typing.Literal:
        return {"enum": [one.value if isinstance(one, enum.Enum) else one for one in arguments]}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": schema_of_type(arguments[0], schemas)}
        return {"type": "array", "prefixItems": [schema_of_type(one, schemas) for one in arguments],
                "minItems": len(arguments), "maxItems": len(arguments)}
    if origin in _ARRAYS or hint in _ARRAYS:
        return {"type": "array", **({"items": schema_of_type(arguments[0], schemas)} if arguments else {})}
    if origin in _OBJECTS or hint in _OBJECTS:
        values = schema_of_type(arguments[1], schemas) if len(arguments) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if hasattr(hint, "__supertype__"):  # NewType
        return schema_of_type(hint.__supertype__, schemas)
    if isinstance(hint, type):
        return schemas.of_class(hint)
    return {}


def _schema_of_class(kind: type, schemas: _Schemas) -> dict[str, Any]:
    if issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if issubclass(kind, (str, _PATH_LIKE)):
        return {"type": "string"}
    if issubclass(kind, (datetime.date, datetime.time)):
        return {"type": "string", "format": "date-time" if issubclass(kind, datetime.datetime) else
                "date" if issubclass(kind, datetime.date) else "time"}
    if dataclasses.is_dataclass(kind):
        hints = hints_of(kind)
        empty = dataclasses.MISSING
        return _object({field.name: (hints.get(field.name, Any), field.default if field.default_factory is empty else ())
                        for field in dataclasses.fields(kind) if field.init}, empty, False, schemas)
    if _is_typed_dict(kind):
        hints = hints_of(kind)
        required = [name for name in hints if name in getattr(kind, "__required_keys__", hints)]
        return {"type": "object", "properties": {name: schema_of_type(_unwrapped(hint), schemas) for name, hint in hints.items()},
                "additionalProperties": False, **({"required": required} if required else {})}
    return {}


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


def _unwrapped(hint: Any) -> Any:
    """The type within Required[...] and NotRequired[...]."""
    name = getattr(typing.get_origin(hint), "_name", None) or getattr(typing.get_origin(hint), "__name__", "")
    return typing.get_args(hint)[0] if name in ("Required", "NotRequired", "ReadOnly") else hint


def made(hint: Any, value: Any) -> Any:
    """The value as its type says: members of enumerations and instances of dataclasses, tuples, sets, dates."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return made(arguments[0], value)
    if origin in UNIONS:
        fitting = [one for one in arguments if one is not type(None)]
        return made(fitting[0], value) if len(fitting) == 1 and value is not None else value
    if isinstance(value, list):
        if origin in (list, collections.abc.Sequence) and arguments:
            return [made(arguments[0], one) for one in value]
        if origin in (set, frozenset) or hint in (set, frozenset):
            kind: Any = origin or hint
            return kind(made(arguments[0], one) if arguments else one for one in value)
        if origin is tuple or hint is tuple:
            kinds = arguments if len(arguments) == len(value) and Ellipsis not in arguments else arguments[:1] * len(value)
            return tuple(made(kind, one) for kind, one in zip(kinds, value)) if arguments else tuple(value)
    if isinstance(value, dict) and origin is dict and len(arguments) == 2:
        return {name: made(arguments[1], one) for name, one in value.items()}
    if isinstance(hint, type):
        if issubclass(hint, enum.Enum) and not isinstance(value, enum.Enum):
            return hint(value)
        if dataclasses.is_dataclass(hint) and isinstance(value, dict):
            hints = hints_of(hint)
            return hint(**{name: made(hints.get(name, Any), one) for name, one in value.items()})
        if isinstance(value, str) and issubclass(hint, (datetime.date, datetime.time)):
            return hint.fromisoformat(value)
        if isinstance(value, str) and issubclass(hint, _PATH_LIKE) and not inspect.isabstract(hint):
            return typing.cast(Any, hint)(value)
    return value


def plain(value: Any) -> Any:
    """For json.dumps: what a function has returned, as JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for method in ("model_dump", "tolist", "to_dict"):
        if callable(function := getattr(value, method, None)) and not isinstance(value, type):
            return function()
    raise TypeError(f"{type(value).__name__} is no value that JSON has")
